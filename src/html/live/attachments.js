"use strict";
// Images and PDF files for the next message: pasted, dropped or chosen.
const attachments = (() => {
  const list = find(".attachments");
  const chooser = find(".composer input[type=file]");
  const LIMIT = 20 * 1024 * 1024; // The body of a request holds 32 MiB; base64 takes a third more.
  const TYPES = chooser.accept.split(",");
  let files = []; // { name, mimeType, data }

  const base64 = async (file) => {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    return btoa(text);
  };
  const show = () => {
    list.hidden = files.length === 0;
    [...list.children].forEach(removeElement);
    list.append(
      ...files.map((file) => {
        const remove = button("Remove", () => set(files.filter((other) => other !== file)));
        const name = visible(file.name);
        remove.setAttribute("aria-label", `Remove ${name}`);
        const label = make("span", { className: "label" }, "file");
        return make("div", { className: "queued" }, label, make("span", { className: "text" }, name), remove);
      }),
    );
  };
  const set = (changed) => {
    files = changed;
    show();
  };
  const addFiles = (added) => added.length > 0 && set([...files, ...added]);
  // Returns true if there is a file among these that can be sent.
  const add = (added) => {
    const usable = [...added].filter(({ type }) => TYPES.includes(type));
    const attached = files.reduce((sum, { data }) => sum + data.length * 0.75, 0);
    if (usable.reduce((sum, { size }) => sum + size, attached) > LIMIT) {
      showProblem("The files are larger than 20 MiB together.");
      return true;
    }
    attempt(async () => {
      const read = async (file) => ({ name: file.name, mimeType: file.type, data: await base64(file) });
      addFiles(await Promise.all(usable.map(read)));
    });
    // After the start of the attempt, which removes earlier messages.
    if (usable.length < added.length) showProblem("Only PNG, JPEG, GIF, WebP and PDF files can be attached.");
    return usable.length > 0;
  };
  const take = () => {
    const taken = files;
    set([]);
    return taken;
  };
  find(".composer textarea").addEventListener("paste", (event) => {
    const pasted = event.clipboardData.files;
    if (pasted.length > 0 && add(pasted)) event.preventDefault();
  });
  const dock = find(".dock");
  dock.addEventListener("dragover", (event) => event.preventDefault());
  dock.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    add(event.dataTransfer.files);
  });
  onClick(find("[data-do=attach]"), () => chooser.click());
  chooser.addEventListener("change", () => {
    add(chooser.files);
    chooser.value = "";
  });
  return { addFiles, isEmpty: () => files.length === 0, set, take };
})();
