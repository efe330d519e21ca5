"use strict";
// The entries of a session: the branch that is shown, the outline, search, folds. Used by every page.
const branches = (() => {
  const find = (what, within = document) => within.querySelector(what);
  const root = document.documentElement;
  const main = find("main");
  const nodes = new Map(); // position of an entry -> its element, parent, children, newest descendant, outline row
  const byAnchor = new Map();
  let path = []; // positions of the branch that is shown, root first
  let shown = new Set();
  let onSelect = () => {};

  const register = (element) => {
    const n = Number(element.dataset.n);
    const parent = "p" in element.dataset ? Number(element.dataset.p) : -1;
    nodes.set(n, { n, element, parent, below: [], newest: n, row: null });
    byAnchor.set(element.id, n);
    return n;
  };
  const link = (positions) => {
    for (const n of positions.sort((a, b) => b - a)) {
      const node = nodes.get(n);
      const above = nodes.get(node.parent);
      if (!above) continue;
      above.below.push(n);
      for (let at = above; at && at.newest < node.newest; at = nodes.get(at.parent)) at.newest = node.newest;
    }
  };
  const linkRows = () => {
    for (const row of document.querySelectorAll(".tree a")) {
      const node = nodes.get(Number(row.dataset.n));
      if (!node) continue;
      node.row = row;
      row.classList.toggle("on", shown.has(node.n));
      row.classList.toggle("here", node === here);
    }
  };

  // The entries from the root to an entry.
  const pathTo = (n) => {
    const branch = [];
    for (let at = nodes.get(n); at; at = nodes.get(at.parent)) branch.push(at.n);
    return branch.reverse();
  };
  // The branch of an entry: its path, and below it the entries that were written last.
  const branchOf = (n) => {
    if (shown.has(n)) return path;
    const branch = pathTo(n);
    for (let at = nodes.get(n); at.below.length; ) {
      at = nodes.get(at.below.reduce((a, b) => (nodes.get(a).newest > nodes.get(b).newest ? a : b)));
      branch.push(at.n);
    }
    return branch;
  };

  const mark = (n, on) => {
    const row = nodes.get(n).row;
    if (row) row.classList.toggle("on", on);
  };

  const show = (branch) => {
    if (branch === path) return;
    let same = 0;
    while (same < path.length && path[same] === branch[same]) same += 1;
    for (const n of path.slice(same)) {
      nodes.get(n).element.remove();
      mark(n, false);
    }
    const added = document.createDocumentFragment();
    for (const n of branch.slice(same)) {
      added.append(nodes.get(n).element);
      mark(n, true);
    }
    if (unfolded) setFolds(added);
    main.append(added);
    path = branch;
    shown = new Set(path);
    markLinks();
  };
  const markLinks = () => {
    for (const link of main.querySelectorAll(".parting a")) {
      if (shown.has(Number(link.dataset.n))) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };

  let here = null;
  const go = (n, focus = true) => {
    const node = nodes.get(n);
    if (!node) return;
    show(branchOf(n));
    if (here) {
      here.element.classList.remove("here");
      if (here.row) here.row.classList.remove("here");
    }
    here = node;
    node.element.classList.add("here");
    const fold = find(":scope > details", node.element);
    if (fold) fold.open = true;
    onSelect(node.element);
    // An entry out of sight has an estimated height until it is laid out, so the position is corrected afterwards.
    node.element.scrollIntoView();
    requestAnimationFrame(() => {
      node.element.scrollIntoView();
      highlight();
    });
    if (focus) node.element.focus({ preventScroll: true });
    const row = node.row;
    if (!row) return;
    row.classList.add("here");
    const side = find("aside");
    const [outer, inner] = [side.getBoundingClientRect(), row.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      side.scrollTop += inner.top - outer.top - outer.height / 2;
    }
  };
  const goToHash = () => {
    let anchor = location.hash.slice(1);
    try {
      anchor = decodeURIComponent(anchor);
    } catch {
      // A truncated address; the id may be valid as it is.
    }
    if (byAnchor.has(anchor)) go(byAnchor.get(anchor));
  };
  addEventListener("hashchange", goToHash);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-n]");
    // The same address again causes no event.
    if (link && link.getAttribute("href") === location.hash) go(Number(link.dataset.n));
  });

  // Search in the text of all branches, which is collected at the first search.
  const input = find(".controls input");
  const found = find(".found");
  const tree = find(".tree");
  const MOST = 300;
  let words = null;
  let hits = [];
  let query = "";
  const search = () => {
    query = input.value.trim().toLowerCase();
    found.hidden = query.length < 2;
    tree.hidden = !found.hidden;
    hits = [];
    found.replaceChildren();
    highlight();
    if (found.hidden) return;
    find(".outline").open = true;
    words ??= [...nodes.values()]
      .sort((a, b) => a.n - b.n)
      .map((node) => [node.n, node.element.textContent.replace(/\s+/g, " ")]);
    const list = document.createElement("ol");
    for (const [n, text] of words) {
      const at = text.toLowerCase().indexOf(query);
      if (at < 0) continue;
      hits.push(n);
      if (hits.length <= MOST) list.append(hit(n, text, at));
    }
    const count = document.createElement("p");
    count.textContent = hits.length === 1 ? "1 entry" : `${hits.length} entries` +
      (hits.length > MOST ? `, the first ${MOST}` : "");
    found.append(count, list);
  };
  const hit = (n, text, at) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const marked = document.createElement("mark");
    marked.textContent = text.slice(at, at + query.length);
    link.href = `#${encodeURIComponent(nodes.get(n).element.id)}`;
    link.dataset.n = n;
    link.append(text.slice(Math.max(0, at - 12), at), marked, text.slice(at + query.length, at + 80));
    item.append(link);
    return item;
  };
  const highlight = () => {
    if (!("highlights" in CSS)) return;
    CSS.highlights.delete("found");
    if (query.length < 2 || !here) return;
    const ranges = [];
    const walker = document.createTreeWalker(here.element, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      const lower = text.data.toLowerCase();
      for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, at + query.length)) {
        const range = new Range();
        range.setStart(text, at);
        range.setEnd(text, Math.min(at + query.length, text.length));
        ranges.push(range);
        for (let fold = text.parentElement.closest("details"); fold; ) {
          fold.open = true;
          fold = fold.parentElement.closest("details");
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  };
  const nextHit = (step) => {
    if (!hits.length) return;
    const at = here ? hits.indexOf(here.n) : -1;
    const next = at < 0 && step < 0 ? hits.length - 1 : (at + step + hits.length) % hits.length;
    go(hits[next], false);
  };
  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      clearTimeout(waiting);
      if (input.value.trim().toLowerCase() !== query) search();
      nextHit(event.shiftKey ? -1 : 1);
      event.preventDefault();
    } else if (event.key === "Escape") {
      input.value = "";
      search();
      input.blur();
    }
  });

  // Folds.
  const unfold = find("[data-do=unfold]");
  let unfolded = false;
  const setFolds = (within) => {
    for (const fold of within.querySelectorAll("details")) fold.open = unfolded;
  };
  const toggleFolds = () => {
    unfolded = !unfolded;
    unfold.setAttribute("aria-pressed", String(unfolded));
    unfold.textContent = unfolded ? "Fold" : "Unfold";
    setFolds(main);
  };
  unfold.addEventListener("click", toggleFolds);

  // Light and dark.
  const theme = find("[data-do=theme]");
  const THEMES = ["auto", "light", "dark"];
  const NAMES = { auto: "Auto", light: "Light", dark: "Dark" };
  const current = () => root.dataset.theme ?? "auto";
  const nameTheme = () => {
    theme.textContent = NAMES[current()];
    theme.setAttribute("aria-label", `Colors: ${NAMES[current()]}`);
  };
  theme.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    nameTheme();
    try {
      localStorage.setItem("tiller-theme", next);
    } catch {
      // The choice then lasts as long as the page.
    }
  });
  nameTheme();

  // Keys.
  const nextPrompt = (step) => {
    const prompts = path.filter((n) => nodes.get(n).element.matches(".user"));
    const top = here && shown.has(here.n) ? here.n : -1;
    const next = step > 0 ? prompts.find((n) => n > top) : prompts.findLast((n) => n < top);
    if (next !== undefined) go(next);
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    if (event.key === "/") {
      // In a narrow window the field is in a panel.
      if (!input.checkVisibility()) find("button[data-panel=outline]")?.click();
      input.focus();
      input.select();
    } else if (event.key === "j") nextPrompt(1);
    else if (event.key === "k") nextPrompt(-1);
    else if (event.key === "e") toggleFolds();
    else return;
    event.preventDefault();
  });

  // Times in the reader's time zone. They are looked up together and formatted by hand: a query in each entry, or Intl,
  // takes seconds for thousands of them.
  const two = (number) => String(number).padStart(2, "0");
  const localizeTimes = (times) => {
    for (const time of times) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      time.textContent = `${two(moment.getHours())}:${two(moment.getMinutes())}`;
    }
  };

  // Adds entries, and replaces those that have changed.
  const add = (articles) => {
    const added = [];
    for (const element of articles) {
      localizeTimes(element.querySelectorAll("time"));
      const known = nodes.get(Number(element.dataset.n));
      if (known) replace(known, element);
      else added.push(register(element));
    }
    link(added);
    words = null;
    markLinks();
  };
  const replace = (node, element) => {
    const [before, after] = [node.element, element].map((article) => article.querySelectorAll("details"));
    if (before.length === after.length) after.forEach((fold, at) => (fold.open = before[at].open));
    node.element.replaceWith(element);
    node.element = element;
    if (node !== here) return;
    element.classList.add("here");
    onSelect(element);
  };
  // Shows the branch that ends at an entry.
  const showPath = (n) => show(pathTo(n));
  const endsAt = (n) => path.length === 0 || path[path.length - 1] === n;
  const clear = () => {
    for (const node of nodes.values()) node.element.remove();
    nodes.clear();
    byAnchor.clear();
    [path, shown, here, words] = [[], new Set(), null, null];
    find(".tree").replaceChildren();
    input.value = "";
    search();
  };
  const setOutline = (rows) => {
    for (const node of nodes.values()) node.row = null;
    find(".tree").replaceChildren(rows);
    linkRows();
  };

  const open = [...main.querySelectorAll(":scope > article")];
  path = open.map(register);
  const others = find("template[data-part=others]");
  if (others) link([...path, ...[...others.content.children].map(register)]);
  shown = new Set(path);
  linkRows();
  localizeTimes([...main.querySelectorAll("time"), ...(others ? others.content.querySelectorAll("time") : [])]);
  for (const hidden of document.querySelectorAll(".controls, .keys")) hidden.hidden = false;
  if (others && matchMedia("(max-width: 60rem)").matches) find(".outline").open = false;
  if (location.hash.length > 1) goToHash();

  return {
    add,
    clear,
    endsAt,
    goToHash,
    has: (anchor) => byAnchor.has(anchor),
    setOutline,
    showPath,
    // Sets the function that gets the element of each selected entry.
    set onSelect(listener) {
      onSelect = listener;
    },
  };
})();
