"use strict";
// Everything a model or a file has said is set as text; nothing here parses markup.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
  return node;
}
function svg(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// -- theme ----------------------------------------------------------------------------------------------------------
const root = document.documentElement;
function remembered(value) {
  try {
    if (value === undefined) return localStorage.getItem("isoprobe-theme");
    localStorage.setItem("isoprobe-theme", value);
  } catch { /* a page from disk may have no storage */ }
  return null;
}
if (remembered()) root.dataset.theme = remembered() === "dark" ? "dark" : "light";
$("theme").hidden = false;
$("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remembered(root.dataset.theme);
});

// -- tables that sort -----------------------------------------------------------------------------------------------
const collator = new Intl.Collator(undefined, { numeric: true });
for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((th, column) => {
    const button = el("button", { type: "button", text: th.textContent });
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = th.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => {
        const cell = row.cells[column];
        const number = cell.dataset.v === undefined || cell.dataset.v === "" ? NaN : Number(cell.dataset.v);
        return { row, number, text: cell.textContent, empty: cell.dataset.v === "" };
      });
      keyed.sort((a, b) => {
        if (a.empty !== b.empty) return a.empty ? 1 : -1; // no data stands last, whichever way
        const order = Number.isNaN(a.number) ? collator.compare(a.text, b.text) : a.number - b.number;
        return down ? -order : order;
      });
      body.append(...keyed.map((k) => k.row));
    });
  });
}

// -- the explorer ---------------------------------------------------------------------------------------------------
const island = $("data");
const D = island ? JSON.parse(island.textContent) : null;
const PAGE = 50;
const get = (column, i) => D[column].of[D[column].at[i]];

const KEYS = [];
function keyOf(i) {
  return KEYS[i] ??= [get("spec", i), get("task", i), get("instance", i), get("variant", i), get("view", i), get("template", i),
    D.repeat[i], get("model", i)].join("/");
}
const linkTo = (i) => "#/r/" + encodeURIComponent(keyOf(i)).replaceAll("%2F", "/");

function verdict(i) { // word, class, sign
  const status = get("status", i);
  if (status !== "usable") return [status.replace("_", " "), "off", "–"];
  if (D.right[i]) return [D.abstained[i] ? "right (abstained)" : "right", "right", "✓"];
  return D.abstained[i] ? ["abstained", "abstained", "∅"] : ["wrong", "wrong", "✗"];
}
function verdictNode(i) {
  const [word, kind, sign] = verdict(i);
  return el("span", { class: "v " + kind, text: `${sign} ${word}` });
}

const FILTERS = ["spec", "task", "view", "model", "answer", "flipped", "status", "cut", "wording", "template"];
const NAMES = { spec: "suite", answer: "answer", flipped: "between views" };
const ANSWERS = {
  right: "right", "not-right": "not right", wrong: "wrong", abstained: "abstained", "abstained-wrongly": "abstained wrongly",
  "should-abstain": "should have abstained", unreadable: "not readable", "confident-wrong": "wrong at 0.9 or more",
};
let state = { page: 0, sort: "", down: false };
let shown = [];
let lastQuery = "";
let groups, groupOf, flippedGroup;

if (D) {
  groupOf = new Int32Array(D.n);
  groups = [];
  const at = new Map();
  for (let i = 0; i < D.n; i++) {
    const name = [D.spec.at[i], D.task.at[i], D.instance.at[i], D.variant.at[i], D.template.at[i], D.model.at[i],
      D.repeat[i]].join(" ");
    if (!at.has(name)) { at.set(name, groups.length); groups.push([]); }
    groupOf[i] = at.get(name);
    groups[groupOf[i]].push(i);
  }
  flippedGroup = groups.map((members) =>
    new Set(members.filter((i) => get("status", i) === "usable").map((i) => D.choice.at[i])).size > 1);
  for (const link of document.querySelectorAll("a.js")) link.hidden = false;
  $("to-explore").hidden = false;
  makeFilters();
}

function makeFilters() {
  const form = $("filters");
  for (const name of FILTERS) {
    const values = name === "answer" ? Object.entries(ANSWERS)
      : name === "flipped" ? [["yes", "decisions differ"], ["no", "decided alike"]]
      : D[name].of.filter((v) => v !== "" && v !== null).map((v) => [v, v]).sort((a, b) => collator.compare(a[1], b[1]));
    if (values.length < 2 && !["answer", "flipped"].includes(name)) continue;
    const select = el("select", { id: "f-" + name, name });
    select.append(el("option", { value: "", text: "any" }), ...values.map(([v, t]) => el("option", { value: v, text: t })));
    form.append(el("div", {}, el("label", { for: "f-" + name, text: NAMES[name] || name }), select));
  }
  form.append(el("div", {}, el("label", { for: "f-q", text: "key contains" }),
    el("input", { id: "f-q", name: "q", type: "search", autocomplete: "off" })));
  form.addEventListener("submit", (e) => e.preventDefault());
  form.addEventListener("input", () => {
    const query = new URLSearchParams();
    for (const field of form.elements) if (field.name && field.value) query.set(field.name, field.value);
    lastQuery = [...query].length ? "?" + query : "";
    history.replaceState(null, "", "#/explore" + lastQuery);
    state.page = 0;
    list();
  });
  const columns = [["answer", ""], ["task", ""], ["instance", "wide"], ["variant", ""], ["view", ""], ["model", ""],
    ["choice", ""], ["expected", "wide"], ["confidence", "wide"], ["flipped", "wide"]];
  const row = el("tr");
  for (const [name, kind] of columns) {
    const button = el("button", { type: "button", text: name === "flipped" ? "views" : name });
    const th = el("th", { scope: "col", class: kind, "data-column": name }, button);
    button.addEventListener("click", () => {
      state.down = state.sort === name ? !state.down : false;
      state.sort = name;
      list();
    });
    row.append(th);
  }
  $("list").tHead.append(row);
  $("prev").addEventListener("click", () => { state.page--; list(false); });
  $("next").addEventListener("click", () => { state.page++; list(false); });
}

function passes(query) {
  const tests = [];
  for (const name of FILTERS) {
    const value = query.get(name);
    if (!value) continue;
    if (name === "flipped") tests.push((i) => flippedGroup[groupOf[i]] === (value === "yes"));
    else if (name === "answer") {
      tests.push({
        right: (i) => D.right[i] === 1,
        "not-right": (i) => D.right[i] !== 1 && get("status", i) !== "lost",
        wrong: (i) => D.right[i] === 0,
        abstained: (i) => D.abstained[i] === 1,
        "abstained-wrongly": (i) => D.abstained[i] === 1 && D.right[i] === 0,
        "should-abstain": (i) => get("relation", i) === "abstain" && D.abstained[i] === 0,
        unreadable: (i) => D.right[i] === -1,
        "confident-wrong": (i) => D.right[i] === 0 && D.confidence[i] >= 0.9,
      }[value] || (() => true));
    } else {
      const wanted = D[name].of.indexOf(value);
      tests.push((i) => D[name].at[i] === wanted);
    }
  }
  const text = (query.get("q") || "").toLowerCase();
  if (text) tests.push((i) => keyOf(i).toLowerCase().includes(text));
  return (i) => tests.every((t) => t(i));
}

function query() {
  const at = location.hash.indexOf("?");
  return new URLSearchParams(location.hash.startsWith("#/explore") && at > 0 ? location.hash.slice(at + 1) : "");
}

function inOrder(column) { // a coded column sorts by its few values, compared once
  const { of, at } = D[column];
  const order = of.map((_, k) => k).sort((a, b) => collator.compare(of[a] ?? "", of[b] ?? ""));
  const place = new Int32Array(of.length);
  order.forEach((k, n) => { place[k] = n; });
  return (i) => place[at[i]];
}

function list(again = true) {
  if (again) {
    const test = passes(query());
    shown = [];
    for (let i = 0; i < D.n; i++) if (test(i)) shown.push(i);
    if (state.sort) {
      const value = {
        answer: (i) => ["right", "abstained", "wrong", "off"].indexOf(verdict(i)[1]), confidence: (i) => D.confidence[i] ?? -1,
        flipped: (i) => (flippedGroup[groupOf[i]] ? 1 : 0),
      }[state.sort] || inOrder(state.sort);
      const values = Float64Array.from({ length: D.n }, (_, i) => value(i));
      shown.sort((a, b) => values[a] - values[b] || a - b);
      if (state.down) shown.reverse();
    }
  }
  const pages = Math.max(1, Math.ceil(shown.length / PAGE));
  state.page = Math.min(Math.max(state.page, 0), pages - 1);
  const rows = shown.slice(state.page * PAGE, (state.page + 1) * PAGE).map((i) => el("tr", {},
    el("td", {}, el("a", { href: linkTo(i), "aria-label": `${verdict(i)[0]}: ${keyOf(i)}` }, verdictNode(i))),
    el("td", { text: get("task", i) }), el("td", { class: "wide", text: get("instance", i) }),
    el("td", { text: get("variant", i) }), el("td", { text: get("view", i) }), el("td", { text: get("model", i) }),
    el("td", { text: get("choice", i) ?? "–" }), el("td", { class: "wide", text: get("expected", i) }),
    el("td", { class: "wide n", text: D.confidence[i] === null ? "" : D.confidence[i].toFixed(2) }),
    el("td", { class: "wide" }, flippedGroup[groupOf[i]] ? el("span", { class: "differs", text: "differ" }) : "")));
  $("list").tBodies[0].replaceChildren(...rows);
  for (const th of $("list").tHead.rows[0].cells) {
    th.removeAttribute("aria-sort");
    if (th.dataset.column === state.sort) th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
  }
  const counts = { right: 0, wrong: 0, abstained: 0, off: 0 };
  for (const i of shown) counts[verdict(i)[1]]++;
  $("count").textContent = `${shown.length.toLocaleString("en")} of ${D.n.toLocaleString("en")} requests: ${counts.right} right, `
    + `${counts.wrong} wrong, ${counts.abstained} abstained wrongly, ${counts.off} not readable`;
  $("page").textContent = `page ${state.page + 1} of ${pages}`;
  $("prev").disabled = state.page === 0;
  $("next").disabled = state.page >= pages - 1;
}

// -- one request ----------------------------------------------------------------------------------------------------
let byKey = null;
function find(key) {
  if (!byKey) {
    byKey = new Map();
    for (let i = 0; i < D.n; i++) byKey.set(keyOf(i), i);
  }
  return byKey.get(key);
}
const content = (i) => (D.request[i] < 0 ? null : D.requests[D.request[i]]);
function labels(i) {
  const c = content(i);
  const of = new Map((c ? c.o : []).map(([key, label]) => [key, label]));
  return (key) => (of.has(key) && of.get(key) !== key ? `${key}: ${of.get(key)}` : key);
}

function bars(i, small) {
  const p = D.probabilities[i];
  if (!p) return null;
  const box = el("div", { class: "bars", role: "list", "aria-label": "probabilities" }), name = labels(i);
  get("options", i).forEach((key, k) => {
    const rail = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    rail.append(svg("rect", { class: "rail", width: 100, height: 10 }),
      svg("rect", { class: key === get("expected", i) ? "bar exp" : "bar", width: 100 * p[k], height: 10 }));
    const mark = key === get("choice", i) ? "► " : "";
    box.append(el("span", { class: "lab", title: name(key), text: mark + (small ? key : name(key)) }), rail,
      el("span", { class: "num", text: p[k].toFixed(3) }));
  });
  return box;
}

function picture(number) {
  const source = $("img-" + number);
  if (!source || !source.textContent) return el("p", { class: "soft", text: "The picture was not kept." });
  const box = el("div", { class: "shown" }, el("img", {
    src: `data:${source.dataset.type};base64,${source.textContent}`, alt: "The picture that the model received" }));
  if (source.dataset.reduced) box.append(el("p", { class: "soft small", text: "Reduced for this page; images/ has the original." }));
  return box;
}
const box = (text) => el("pre", { text, tabindex: 0 });

function evidence(i, open) {
  const c = content(i);
  if (!c) return [];
  return c.e.map(([kind, n]) => {
    if (kind === "i") return picture(n);
    if (open) return box(D.texts[n]);
    return el("details", {}, el("summary", { text: "text" }), box(D.texts[n]));
  });
}

function plot(i) {
  const s = get2("series", i), m = D.more[i];
  if (!s && !m.span_nm) return null;
  const W = 640, H = 230, L = 46, R = 12, T = 12, B = 34;
  const xs = s ? s.x : [...m.span_nm, ...(m.remove_nm || [])];
  const x0 = Math.min(...xs), x1 = Math.max(...xs);
  const ys = s ? s.y.flat() : [0, 1];
  const y0 = Math.min(...ys), y1 = Math.max(...ys), pad = (y1 - y0 || 1) * 0.06;
  const X = (x) => L + ((x - x0) / (x1 - x0 || 1)) * (W - L - R);
  const Y = (y) => H - B - ((y - y0 + pad) / (y1 - y0 + 2 * pad || 1)) * (H - T - B);
  const said = [];
  const node = svg("svg", { class: "plot", viewBox: `0 0 ${W} ${H}`, role: "img" });
  const shade = (kind, span) => node.append(svg("rect", {
    class: kind, x: X(Math.max(span[0], x0)), y: T, height: H - T - B,
    width: Math.max(1, X(Math.min(span[1], x1)) - X(Math.max(span[0], x0))) }));
  if (m.span_nm) { shade("span", m.span_nm); said.push(`blue: asked about, ${m.span_nm.join("–")} nm`); }
  if (m.window_nm) { shade("span", m.window_nm); said.push(`blue: window, ${m.window_nm.join("–")} nm`); }
  if (m.remove_nm) {
    shade("gone", m.remove_nm);
    for (const x of m.remove_nm) node.append(svg("line", { class: "edge", x1: X(x), x2: X(x), y1: T, y2: H - B }));
    said.push(`orange: removed, ${m.remove_nm.join("–")} nm`);
  }
  if (m.keep_nm) said.push(`samples removed outside ${m.keep_nm.join("–")} nm only`);
  node.append(svg("line", { class: "axis", x1: L, x2: W - R, y1: H - B, y2: H - B }),
    svg("line", { class: "axis", x1: L, x2: L, y1: T, y2: H - B }));
  for (let k = 0; k <= 5; k++) {
    const x = x0 + ((x1 - x0) * k) / 5;
    node.append(svg("text", { x: X(x), y: H - B + 15, "text-anchor": "middle" }, x.toFixed(0)));
  }
  node.append(svg("text", { x: (W + L) / 2, y: H - 4, "text-anchor": "middle" }, "wavelength, nm"));
  if (s) {
    for (const y of [y0, y1]) node.append(svg("text", { x: L - 5, y: Y(y) + 4, "text-anchor": "end" }, y.toPrecision(2)));
    s.y.forEach((values, k) => {
      node.append(svg("polyline", {
        class: "s" + (k % 3), fill: "none", "stroke-width": 1.6,
        points: values.map((v, j) => `${X(s.x[j]).toFixed(1)},${Y(v).toFixed(1)}`).join(" ") }));
      if (s.names[k]) node.append(svg("text", { class: "l" + (k % 3), x: W - R - 14 * (s.y.length - k), y: T + 10 }, s.names[k]));
    });
  }
  const caption = `${s ? s.of + " as tabulated before any cut" : "interval"}${said.length ? "; " + said.join("; ") : ""}. `
    + "Shading is for the reader only; the model did not see it.";
  node.setAttribute("aria-label", caption);
  return el("figure", {}, node, el("figcaption", { text: caption }));
}
const get2 = (name, i) => (D[name].at[i] < 0 ? null : D[name].of[D[name].at[i]]);

function facts(pairs) {
  const list = el("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(el("dt", { text: name }), el("dd", {}, value instanceof Node ? value : String(value)));
  }
  return list;
}

const ORDER = ["table_nm", "table_um", "table_sci", "table_ev", "table_ev_desc", "plot_nm", "plot_ev", "both", "text", "image"];
function rank(i) {
  const at = ORDER.indexOf(get("view", i));
  return at < 0 ? ORDER.length : at;
}
function siblings(i) { // the same instance and variant, in the other views and templates
  const out = [];
  for (let k = 0; k < D.n; k++) {
    if (D.instance.at[k] === D.instance.at[i] && D.variant.at[k] === D.variant.at[i] && D.spec.at[k] === D.spec.at[i]
      && D.task.at[k] === D.task.at[i] && D.model.at[k] === D.model.at[i] && D.repeat[k] === D.repeat[i]) out.push(k);
  }
  return out.sort((a, b) => D.template.at[a] - D.template.at[b] || rank(a) - rank(b) || a - b);
}

function request(i) {
  const m = D.more[i], name = labels(i), c = content(i), section = $("request");
  const at = shown.indexOf(i);
  const step = (n, text) => {
    const to = at >= 0 ? shown[at + n] : undefined;
    return to === undefined ? el("button", { type: "button", disabled: true, text }) : el("a", { href: linkTo(to), text, class: "step" });
  };
  const said = el("div", {},
    el("h3", { text: "What it said" }),
    facts([
      ["verdict", verdictNode(i)],
      ["decision", get("choice", i) === null ? "none that counts" : name(get("choice", i))],
      ["expected", name(get("expected", i))],
      ["probabilities", m.probability_kind], ["error", m.error], ["not found in the reply", (m.missing || []).join(", ")],
      ["near misses", (m.near_misses || []).join(", ")], ["notes", m.notes],
      ...Object.entries(m.claims || {}).map(([about, answer]) => [`claims about ${about}`, answer])]),
    bars(i),
    ...(m.reply || []).map(box),
    el("h3", { text: "Why that is the expected answer" }), el("p", { text: get("derived", i) }), plot(i),
    el("h3", { text: "About the request" }),
    facts([
      ["suite, task", `${get("spec", i)}, ${get("task", i)}`], ["variant", `${get("variant", i)} (${get("relation", i)})`],
      ["direction", m.direction], ["cut", [get("cut", i), m.deletion].filter(Boolean).join(", ")], ["shortcut's answer", m.decoy],
      ["inputs", m.arm], ["annotated evidence in", m.golden], ["readout", get("readout", i)], ["provider", m.provider],
      ["served model", m.served_model], ["finish reason", m.finish_reason],
      ["tokens in, out", m.tokens_in || m.tokens_out ? `${m.tokens_in ?? "?"}, ${m.tokens_out ?? "?"}` : ""],
      ["cost", m.cost_usd ? `$${m.cost_usd}` : ""], ["latency", m.latency_s ? `${m.latency_s.toFixed(2)} s` : ""],
      ["request SHA-256", D.request[i] < 0 ? "" : D.sha256[D.request[i]]]]));
  const received = el("div", {}, el("h3", { text: "What the model received" }));
  if (c) {
    if (D.texts[c.s]) received.append(el("p", { class: "soft small", text: "System" }), box(D.texts[c.s]));
    received.append(...evidence(i, true), ...(D.texts[c.p] ? [box(D.texts[c.p])] : []));
  } else {
    received.append(el("p", { class: "note", text: "This run kept no requests. “isoprobe evidence RUN” puts them here." }));
  }

  const same = siblings(i);
  const cards = same.map((k) => el("div", { class: k === i ? "card here" : "card" },
    el("h4", {}, k === i ? el("span", { text: title(k) }) : el("a", { href: linkTo(k), text: title(k) })),
    el("p", {}, verdictNode(k), " ", get("choice", k) ?? "–", " ",
      get("choice", k) !== get("choice", i) ? el("span", { class: "differs", text: "≠ differs" }) : ""),
    bars(k, true), ...evidence(k, false)));

  section.replaceChildren(
    el("div", { class: "pager" }, el("a", { href: "#/explore" + lastQuery, text: "← list" }), step(-1, "‹ previous"), step(1, "next ›"),
      el("span", { class: "soft small", text: at >= 0 ? `${at + 1} of ${shown.length}` : "" }),
      el("span", { class: "soft small" }, el("kbd", { text: "←" }), " ", el("kbd", { text: "→" }), " step, ", el("kbd", { text: "Esc" }), " list")),
    el("h2", { class: "key", id: "h-request", tabindex: -1, text: keyOf(i) }),
    el("div", { class: "two" }, received, said),
    el("h3", { text: "The same question in every view" }), el("div", { class: "views" }, ...cards),
    ...matrix(i), ...others(i));
  section.querySelector("h2").focus({ preventScroll: true });
  scrollTo({ top: 0, behavior: "instant" });
}
function title(k) {
  return get("view", k).replaceAll("_", " ") + (D.template.of.length > 1 ? `, ${get("template", k)}` : "");
}

function matrix(i) { // the whole instance: variants down, views across
  const members = [];
  for (let k = 0; k < D.n; k++) {
    if (D.instance.at[k] === D.instance.at[i] && D.spec.at[k] === D.spec.at[i] && D.task.at[k] === D.task.at[i]
      && D.model.at[k] === D.model.at[i] && D.repeat[k] === D.repeat[i]) members.push(k);
  }
  const variants = [...new Set(members.map((k) => get("variant", k)))], views = [...new Set([...members].sort((a, b) => rank(a) - rank(b)).map(title))];
  if (variants.length < 2) return [];
  const cell = new Map(members.map((k) => [get("variant", k) + "\n" + title(k), k]));
  const head = el("tr", {}, el("th", { scope: "col", text: "variant" }), ...views.map((v) => el("th", { scope: "col", text: v })));
  const rows = variants.map((v) => el("tr", {}, el("th", { scope: "row", text: v }), ...views.map((view) => {
    const k = cell.get(v + "\n" + view);
    if (k === undefined) return el("td", {});
    const [word, kind, sign] = verdict(k);
    return el("td", { class: k === i ? "here" : null }, el("a", { href: linkTo(k), class: "v " + kind, "aria-label": `${word}: ${get("choice", k)}`,
      title: keyOf(k), text: `${sign} ${get("choice", k) ?? ""}` }));
  })));
  return [el("h3", { text: `All of ${get("instance", i)}` }),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All variants and views of this instance" },
      el("table", { class: "matrix" }, el("thead", {}, head), el("tbody", {}, ...rows)))];
}

function others(i) {
  const rest = keyOf(i).split("/").slice(0, 7).join("/");
  const found = [];
  for (let k = 0; k < D.n; k++) {
    if (k !== i && D.instance.at[k] === D.instance.at[i] && D.view.at[k] === D.view.at[i] && keyOf(k).startsWith(rest + "/")) found.push(k);
  }
  if (!found.length) return [];
  return [el("h3", { text: "Other models on this request" }), el("ul", { class: "plain" }, ...found.map((k) =>
    el("li", {}, el("a", { href: linkTo(k), text: get("model", k) }), " ", verdictNode(k), " ", get("choice", k) ?? "–")))];
}

// -- where the page is ----------------------------------------------------------------------------------------------
function route() {
  const hash = location.hash;
  const here = D && hash.startsWith("#/r/") ? "request" : D && hash.startsWith("#/explore") ? "explore" : "report";
  $("report").hidden = here !== "report";
  if (D) {
    $("explore").hidden = here !== "explore";
    $("request").hidden = here !== "request";
  }
  for (const link of document.querySelectorAll("nav.top a")) link.removeAttribute("aria-current");
  if (here === "report") {
    const target = hash.length > 1 ? $(decodeURIComponent(hash.slice(1))) : null;
    if (target) target.scrollIntoView();
    return;
  }
  $("to-explore").setAttribute("aria-current", "page");
  if (here === "explore") {
    const wanted = query();
    for (const field of $("filters").elements) if (field.name) field.value = wanted.get(field.name) || "";
    lastQuery = hash.includes("?") ? hash.slice(hash.indexOf("?")) : "";
    list();
    scrollTo({ top: 0, behavior: "instant" });
    return;
  }
  let key = hash.slice(4);
  try { key = decodeURIComponent(key); } catch { /* taken as it stands */ }
  const i = find(key);
  if (i === undefined) {
    $("request").replaceChildren(el("p", {}, el("a", { href: "#/explore", text: "← list" })),
      el("h2", { id: "h-request", tabindex: -1, text: "No such request" }), el("p", { text: key }));
    return;
  }
  if (!shown.length) shown = Array.from({ length: D.n }, (_, k) => k);
  request(i);
}
addEventListener("hashchange", route);
addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea")) return;
  const explore = D && !$("explore").hidden, open = D && !$("request").hidden;
  if (e.key === "/" && explore) { e.preventDefault(); $("f-q").focus(); }
  else if (explore && e.key === "n" && !$("next").disabled) $("next").click();
  else if (explore && e.key === "p" && !$("prev").disabled) $("prev").click();
  else if (open && e.key === "Escape") location.hash = "#/explore" + lastQuery;
  else if (open && (e.key === "ArrowRight" || e.key === "ArrowLeft") && !e.target.closest("pre, .scroll")) {
    const links = [...document.querySelectorAll("#request a.step")].filter((a) => a.textContent.includes(e.key === "ArrowRight" ? "next" : "previous"));
    if (links[0]) location.hash = links[0].getAttribute("href");
  }
});
route();
if (D) setTimeout(() => find(""), 100); // the first request opens as fast as the others
root.dataset.ready = "1";
