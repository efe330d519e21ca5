"use strict";
(() => {
  const find = (what, within = document) => within.querySelector(what);
  const root = document.documentElement;
  const main = find("main");
  const nodes = new Map(); // position of an entry -> what is known of it
  const byAnchor = new Map();
  let path = []; // positions of the branch that is shown, root first
  let shown = new Set();

  const article = (element) => {
    const n = Number(element.dataset.n);
    const parent = "p" in element.dataset ? Number(element.dataset.p) : -1;
    nodes.set(n, { n, element, parent, below: [], newest: n, row: null });
    byAnchor.set(element.id, n);
  };
  const open = [...main.children].filter((element) => element.matches("article"));
  open.forEach(article);
  const waitingElsewhere = find("template[data-part=others]").content;
  [...waitingElsewhere.children].forEach(article);
  for (const n of [...nodes.keys()].sort((a, b) => b - a)) {
    const node = nodes.get(n);
    const above = nodes.get(node.parent);
    if (!above) continue;
    above.below.push(n);
    above.newest = Math.max(above.newest, node.newest);
  }
  for (const row of document.querySelectorAll(".tree a")) {
    const node = nodes.get(Number(row.dataset.n));
    if (node) node.row = row;
  }
  path = open.map((element) => Number(element.dataset.n));
  shown = new Set(path);

  // The branch on which an entry is: what is above it, and below it what was written last.
  const branchOf = (n) => {
    if (shown.has(n)) return path;
    const branch = [];
    for (let at = nodes.get(n); at; at = nodes.get(at.parent)) branch.push(at.n);
    branch.reverse();
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
    const fold = node.element.firstElementChild;
    if (fold && fold.matches("details")) fold.open = true;
    // What is out of sight has a guessed height until it is laid out: go there, look, and go again.
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
      // An address that somebody cut: perhaps the id is as it stands.
    }
    if (byAnchor.has(anchor)) go(byAnchor.get(anchor));
  };
  addEventListener("hashchange", goToHash);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-n]");
    // The same address again is no change of it.
    if (link && link.getAttribute("href") === location.hash) go(Number(link.dataset.n));
  });

  // Search: every entry's words, of all branches, gathered when somebody first looks for some.
  const input = find("input[type=search]");
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
    theme.setAttribute("aria-label", `Colours: ${NAMES[current()]}`);
  };
  theme.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    nameTheme();
    try {
      localStorage.setItem("tiller-theme", next);
    } catch {
      // Then it lasts as long as the page.
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
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea")) return;
    if (event.key === "/") {
      input.focus();
      input.select();
    } else if (event.key === "j") nextPrompt(1);
    else if (event.key === "k") nextPrompt(-1);
    else if (event.key === "e") toggleFolds();
    else return;
    event.preventDefault();
  });

  // Times by the clock of whoever reads. All are looked up at once and written by hand: looking into each entry, or asking
  // Intl, takes seconds for thousands of them.
  const two = (number) => String(number).padStart(2, "0");
  for (const time of [...main.querySelectorAll("time"), ...waitingElsewhere.querySelectorAll("time")]) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.textContent = `${two(moment.getHours())}:${two(moment.getMinutes())}`;
  }

  for (const hidden of document.querySelectorAll(".controls, .keys")) hidden.hidden = false;
  if (matchMedia("(max-width: 60rem)").matches) find(".outline").open = false;
  if (location.hash.length > 1) goToHash();
})();
