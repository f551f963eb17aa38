// Search by node name, operator, module path, value and stack trace.
import { h } from "./panel.js";
import { cut } from "./layout.js";

const MAX_RESULTS = 100;

/** The items that have all words of the query somewhere, the nearest to it first. */
export function search(model, query) {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return [];
  const found = [];
  for (const item of model.byId.values()) {
    if (!item.parent || item.isHidden) continue;
    const fields = fieldsOf(model, item);
    let score = 0;
    let why = "";
    for (const word of words) {
      const at = fields.findIndex(([, text]) => text.toLowerCase().includes(word));
      if (at < 0) {
        score = -1;
        break;
      }
      const [name, text] = fields[at];
      score += at * 10 + (text.toLowerCase() === word ? 0 : text.toLowerCase().startsWith(word) ? 1 : 2);
      if (at > 1 && name !== "graph") why = name === "stack trace" ? lineWith(text, word) : text;
    }
    if (score >= 0) found.push({ item, score, why });
  }
  found.sort((a, b) => a.score - b.score || a.item.order - b.item.order);
  return found;
}

function fieldsOf(model, item) {
  if (!item.node) return [["name", item.label], ["class", item.className], ["path", item.path]];
  const { node } = item;
  const around = item.parent.path ?? "";
  return [
    ["name", node.name], ["operator", item.op], ["value", item.value ?? ""], ["weight", node.filled ?? ""],
    ["module", around], ["graph", item.id], ["module", model.string(node.modules)], ["stack trace", model.string(node.trace)],
  ];
}

function lineWith(text, word) {
  return text.split("\n").find((line) => line.toLowerCase().includes(word))?.trim() ?? "";
}

/** The field in which one types, and the list below it. */
export class SearchBox {
  constructor(input, list, handlers) {
    Object.assign(this, { input, list, handlers, results: [], at: -1 });
    input.addEventListener("input", () => this.run());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("focus", () => this.results.length > 0 && this.open(true));
    input.addEventListener("blur", () => setTimeout(() => this.open(false), 150));
  }

  open(isOpen) {
    this.list.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", String(isOpen));
  }

  run() {
    this.results = search(this.handlers.model(), this.input.value);
    this.at = -1;
    this.handlers.found(new Set(this.results.map((result) => result.item)));
    this.render();
    this.open(this.input.value.trim() !== "");
  }

  render() {
    const rows = this.results.slice(0, MAX_RESULTS).map((result, i) => {
      const { item, why } = result;
      const name = item.node ? item.node.name : item.path || item.label;
      return h("li", { role: "option", class: i === this.at ? "current" : "", "aria-selected": String(i === this.at), onmousedown: () => this.choose(i) },
        h("span", { class: "name" }, cut(name, 60)), h("span", { class: "dim" }, ` ${item.node ? item.label : item.className || item.kind}`),
        why ? h("div", { class: "why" }, cut(why, 110)) : null);
    });
    const n = this.results.length;
    const head = n === 0 ? "nothing found" : n === 1 ? "1 result" : `${n} results${n > MAX_RESULTS ? `, ${MAX_RESULTS} shown` : ""}`;
    this.list.replaceChildren(h("li", { class: "head", role: "presentation" }, head), ...rows);
  }

  choose(i) {
    const result = this.results[i];
    if (!result) return;
    this.at = i;
    this.render();
    this.list.querySelector(".current")?.scrollIntoView({ block: "nearest" });
    this.handlers.choose(result.item);
  }

  /** The next result, or the one before. */
  step(by) {
    const n = Math.min(this.results.length, MAX_RESULTS);
    if (n > 0) this.choose((this.at + by + n) % n);
  }

  key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.step(event.key === "ArrowDown" ? 1 : this.at < 0 ? 0 : -1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (this.at < 0) this.choose(0);
      this.open(false);
      this.input.blur();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.clear();
      this.input.blur();
    }
  }

  clear() {
    this.input.value = "";
    this.results = [];
    this.handlers.found(new Set());
    this.open(false);
  }
}
