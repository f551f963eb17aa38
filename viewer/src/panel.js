// The panel beside the graph: what is selected, or the program as a whole.
//
// Texts of a program become text nodes only: no function here takes markup.
import { Model, shortOp } from "./model.js";
import * as numbers from "./numbers.js";

/** An element with properties and children; strings become text. */
export function h(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

const section = (title, ...children) => h("section", {}, h("h3", {}, title), ...children);
const fact = (name, value, kind) => (value ? [h("dt", {}, name), h("dd", { class: kind ?? "code" }, value)] : []);

const CHANGES = { added: "made by optimization", changed: "changed by optimization", removed: "not in the optimized program" };

export class Panel {
  constructor(element, handlers) {
    this.element = element;
    this.handlers = handlers;
  }

  show(model, item) {
    this.model = model;
    const content = item === null ? this.program() : item.node ? this.node(item) : this.cluster(item);
    this.element.replaceChildren(...content);
    this.element.scrollTop = 0;
  }

  link(item, label) {
    return h("button", { class: "link", type: "button", onclick: () => this.handlers.select(item) }, label ?? item.node?.name ?? item.label);
  }

  list(items, most = 200) {
    const rows = items.slice(0, most).map((item) =>
      h("li", {}, this.link(item), h("span", { class: "dim" }, ` ${item.label}`), item.value ? h("span", { class: "value" }, ` ${item.value}`) : null));
    if (items.length > most) rows.push(h("li", { class: "dim" }, `… ${items.length - most} more`));
    return h("ul", { class: "nodes" }, ...rows);
  }

  cost(item) {
    const { total, view } = this.model;
    const facts = [];
    if (item.cost > 0) {
      facts.push(...fact("estimated", `${numbers.time(item.cost)} (${numbers.share(item.cost, total.cost)})`, "plain"));
      facts.push(...fact("operations", numbers.count(item.flops), "plain"));
      facts.push(...fact("bytes moved", numbers.count(item.bytes), "plain"));
    }
    if (view.is_measured) {
      facts.push(...fact("measured", item.time > 0 ? `${numbers.time(item.time)} (${numbers.share(item.time, total.time)})` : "no step of its own", "plain"));
    }
    return facts.length > 0 ? [section("Cost", h("dl", {}, ...facts))] : [];
  }

  path(item) {
    const chain = Model.chain(item).slice(1, -1);
    if (chain.length === 0) return null;
    return h("nav", { class: "path", "aria-label": "around it" }, ...chain.flatMap((at, i) => [i > 0 ? " › " : "", this.link(at, at.label)]));
  }

  node(item) {
    const { node } = item;
    const text = (at) => this.model.string(at);
    const args = (node.args ?? []).map(([name, value]) => h("tr", {}, h("th", {}, text(name)), h("td", {}, value)));
    const inputs = (node.inputs ?? []).map((i) => this.model.places[item.graph][i]);
    const others = item.subgraphs.map((g) => this.model.view.graphs[g]).filter((g) => g.parent?.[1] !== item.index);
    return [
      h("header", {}, h("h2", {}, node.name), h("p", { class: "op" }, node.kind === "call" ? item.op : node.filled || item.op), this.path(item)),
      ...item.diagnostics.map((d) => this.diagnostic(d, false)),
      ...this.change(item),
      section("Value", h("dl", {}, ...fact("type", item.value || "unknown"), ...fact("layout", text(node.layout)), ...fact("ranges", text(node.ranges)))),
      ...this.cost(item),
      ...(args.length > 0 ? [section("Arguments", h("table", { class: "args" }, h("tbody", {}, ...args)))] : []),
      ...(inputs.length > 0 ? [section(`Inputs (${inputs.length})`, this.list(inputs))] : []),
      ...(item.users.length > 0 ? [section(`Users (${item.users.length})`, this.list([...new Set(item.users)]))]
        : node.kind === "call" ? [section("Users", h("p", { class: "dim" }, "none"))] : []),
      ...others.map((g) => section("Subgraph", h("p", {}, `${g.name}, which is drawn within the first node that calls it`))),
      ...(text(node.trace) ? [section("Stack trace", this.trace(text(node.trace)))] : []),
      ...(text(node.modules) ? [section("Modules", h("pre", {}, text(node.modules)))] : []),
      ...((node.meta ?? []).length > 0 ? [section("Metadata", ...node.meta.map(([key, value]) =>
        h("details", { open: text(value).length < 120 }, h("summary", {}, text(key)), h("pre", {}, text(value)))))] : []),
    ];
  }

  /** A stack trace with the innermost frame marked. */
  trace(text) {
    const lines = text.split("\n");
    const last = lines.findLastIndex((line) => line.trimStart().startsWith("File "));
    return h("pre", { class: "trace" }, ...lines.map((line, i) =>
      h("span", { class: last >= 0 && i >= last ? "inner" : "" }, line + (i + 1 < lines.length ? "\n" : ""))));
  }

  change(item) {
    const { change } = item.node;
    if (!change) return [];
    const rules = change.reasons.map((at) => h("li", {}, h("span", { class: "rule" }, this.model.string(at))));
    const counterpart = this.handlers.counterpart(item);
    return [section("Optimization",
      h("p", { class: `change ${change.kind}` }, CHANGES[change.kind]),
      change.other ? h("div", {}, h("p", { class: "dim" }, change.kind === "changed" && this.handlers.isLater() ? "before:" : "in the other program:"), h("pre", {}, change.other)) : null,
      rules.length > 0 ? h("div", {}, h("p", { class: "dim" }, "by:"), h("ul", { class: "rules" }, ...rules)) : null,
      counterpart ? h("button", { class: "plain", type: "button", onclick: () => this.handlers.switchTo(item) }, "show it in the other program") : null)];
  }

  cluster(item) {
    const ops = new Map();
    let weights = 0;
    const visit = (at) => {
      if (at.isWeight) weights++;
      else if (at.kind === "call") ops.set(at.op, (ops.get(at.op) ?? 0) + 1);
      at.children.forEach(visit);
    };
    visit(item);
    const entering = [...new Set(item.entering.map((edge) => edge.from))].filter((from) => !from.isWeight);
    const leaving = [...new Set(item.leaving.map((edge) => edge.from))];
    const rows = [...ops].sort((a, b) => b[1] - a[1]).map(([op, n]) => h("tr", {}, h("td", {}, shortOp(op)), h("td", { class: "number" }, String(n))));
    return [
      h("header", {}, h("h2", {}, item.label), h("p", { class: "op" }, item.className || item.kind), this.path(item)),
      h("p", {}, `${item.count} nodes`, weights > 0 ? `, ${weights} parameters and buffers` : ""),
      h("button", { class: "plain", type: "button", onclick: () => this.handlers.toggle(item) }, item.isOpen ? "close" : "open"),
      ...(item.path ? [section("Path", h("p", { class: "code" }, item.path))] : []),
      ...this.cost(item),
      ...(entering.length > 0 ? [section(`Takes (${entering.length})`, this.list(entering, 40))] : []),
      ...(leaving.length > 0 ? [section(`Gives (${leaving.length})`, this.list(leaving, 40))] : []),
      ...(rows.length > 0 ? [section("Operators", h("table", { class: "counts" }, h("tbody", {}, ...rows)))] : []),
    ];
  }

  diagnostic(d, isLinked) {
    return h("div", { class: `diagnostic ${d.severity}` },
      h("p", {}, h("strong", {}, `${d.severity}[${d.code}]`), isLinked ? " at " : "", isLinked && d.item ? this.link(d.item, d.at) : isLinked ? d.at : ""),
      h("p", {}, d.message), ...d.notes.map((note) => h("p", { class: "dim" }, `note: ${note}`)));
  }

  program() {
    const { view, nodes, total } = this.model;
    const tops = nodes.filter((item) => item.graph === 0);
    const inputs = tops.filter((item) => item.kind === "input" && !item.isWeight);
    const weights = tops.filter((item) => item.isWeight);
    const calls = nodes.filter((item) => item.kind === "call");
    const key = view.is_measured ? "time" : "cost";
    // What a call of subgraphs costs, their nodes cost.
    const dear = calls.filter((item) => item[key] > 0 && (key === "time" || !item.isCluster)).sort((a, b) => b[key] - a[key]).slice(0, 12);
    const changed = nodes.filter((item) => item.node.change);
    const symbols = view.symbols.map((s) => h("tr", {}, h("td", {}, s.name), h("td", {}, s.range), h("td", { class: "dim" }, s.captured ? `captured as ${s.captured}` : "")));
    return [
      h("header", {}, h("h2", {}, this.model.root.label), h("p", { class: "op" }, `${nodes.length} nodes, ${weights.length} parameters and buffers`)),
      ...view.notes.map((note) => h("p", { class: "note" }, note)),
      ...(view.diagnostics.length > 0 ? [section(`Diagnostics (${view.diagnostics.length})`, ...view.diagnostics.slice(0, 300).map((d) => this.diagnostic(d, true)))] : []),
      section("Inputs", this.list(inputs, 60)),
      ...(symbols.length > 0 ? [section("Symbols", h("table", { class: "symbols" }, h("tbody", {}, ...symbols)))] : []),
      ...(total.cost > 0 || view.is_measured ? [section("Cost of a call", h("dl", {},
        ...fact("estimated", numbers.time(total.cost), "plain"),
        ...(view.is_measured ? fact("measured", numbers.time(total.time), "plain") : [])))] : []),
      ...(dear.length > 0 ? [section(view.is_measured ? "Slowest nodes" : "Most expensive nodes, estimated", h("table", { class: "counts" }, h("tbody", {}, ...dear.map((item) =>
        h("tr", {}, h("td", {}, this.link(item)), h("td", { class: "dim" }, item.node.name.startsWith(item.label) ? "" : item.label), h("td", { class: "number" }, numbers.time(item[key])), h("td", { class: "number" }, numbers.share(item[key], total[key])))))))] : []),
      ...(changed.length > 0 ? [section(`Nodes that differ (${changed.length})`, this.list(changed, 100))] : []),
      ...(view.rules.length > 0 ? [section("Rules that fired", h("table", { class: "counts" }, h("tbody", {}, ...view.rules.map(([rule, n]) => h("tr", {}, h("td", {}, rule), h("td", { class: "number" }, String(n)))))))] : []),
    ];
  }
}
