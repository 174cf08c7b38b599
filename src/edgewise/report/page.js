"use strict";
// Fills the figures and the table of every section, and filters, searches, sorts and saves.
(() => {
  const SHOWN = 1000; // rows of the table of edges; the download has all of them
  const LABEL = { font: "12px helvetica, sans-serif", half: 8, beside: 3, node: 7, most: 10, lines: 500 }; // half: of its height; beside: kept free; node: radius kept free
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const POSITIVE = dark ? "#56B4E9" : "#0072B2", NEGATIVE = dark ? "#F08A3C" : "#D55E00", NEUTRAL = "#888888", FAINT = dark ? "#2E3238" : "#E6E6E6";
  const PAPER = dark ? 45 : 247;
  const INK = dark ? "#D0D0D0" : "#333333", BEHIND = dark ? "#17191C" : "#FFFFFF";
  const PAPER_WIDTH = 680; // what a sheet holds beside its margins
  const WEAK = dark ? 0.6 : 0.45; // how solid the weakest edges are
  const WEAKEST = 0.05; // In a map of neighbours, small weights are to look small.
  // What is known of an edge's place in the optimum, by whether it is decided.
  const PROVEN = ["too close to call", "proven"];
  const sign = (weight, signed) => (!signed || weight === 0 ? NEUTRAL : weight > 0 ? POSITIVE : NEGATIVE);
  const shade = (weight, largest, signed, least = 0.25) => {
    const share = largest > 0 ? Math.min(1, Math.abs(weight) / largest) : 0;
    const [r, g, b] = !signed ? (dark ? [220, 220, 220] : [40, 40, 40]) : dark ? (weight >= 0 ? [86, 180, 233] : [240, 138, 60]) : weight >= 0 ? [0, 114, 178] : [213, 94, 0];
    const mix = (c) => Math.round(PAPER + (c - PAPER) * (least + (1 - least) * share));
    return `rgb(${mix(r)},${mix(g)},${mix(b)})`;
  };
  const model = (name) => {
    for (const doc of window.Bokeh?.documents ?? []) {
      const found = doc.get_model_by_name(name);
      if (found) return found;
    }
    return null;
  };

  // Whether a line passes through a box: what is left of it between the sides, then between low and high.
  const passes = ([[x0, y0], [x1, y1]], [left, right, low, high]) => {
    let [from, to] = [0, 1];
    for (const [start, step, least, most] of [[x0, x1 - x0, left, right], [y0, y1 - y0, low, high]]) {
      if (step === 0) {
        if (start < least || start > most) return false;
      } else {
        const ends = [(least - start) / step, (most - start) / step];
        from = Math.max(from, Math.min(...ends));
        to = Math.min(to, Math.max(...ends));
      }
    }
    return from < to;
  };

  // Where names go, in pixels from their nodes: beside, above or below, clear of the frame, of names that came before
  // and, but for the first few, of nodes; over as few edges as can be. A name that is in the way of another gives way
  // where it has another place. Null for a name without room.
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = LABEL.font;
  const placeLabels = (points, texts, order, [wide, tall], lines) => {
    const taken = new Map();
    const offsets = texts.map(() => null);
    const isInside = (k) => points[k][0] >= 0 && points[k][0] <= wide && points[k][1] >= 0 && points[k][1] <= tall;
    const discs = points.map((_, k) => k).filter(isInside);
    const isApart = (a, b) => a[1] < b[0] || a[0] > b[1] || a[3] < b[2] || a[2] > b[3];
    const isWhole = ([left, right, low, high]) => left >= 0 && right <= wide && low >= 0 && high <= tall;
    const isClear = ([left, right, low, high], own) => discs.every((k) => k === own
      || points[k][0] + LABEL.node < left || points[k][0] - LABEL.node > right
      || points[k][1] + LABEL.node < low || points[k][1] - LABEL.node > high);
    const spots = new Map();
    // The places that a name may have, the best first.
    const find = (k, rank) => {
      const [x, y] = points[k];
      const width = measure.measureText(texts[k]).width;
      // Above or below a node at the side of the frame, a name moves in until it is whole.
      const across = Math.min(Math.max(-width / 2, 4 - x), wide - 4 - width - x);
      const beside = [[9, 0], [-9 - width, 0], [across, 14], [across, -14], [6, 11], [6, -11], [-6 - width, 11], [-6 - width, -11]];
      const all = beside.map((place, number) => {
        const [dx, dy] = place;
        const box = [x + dx - LABEL.beside, x + dx + width + LABEL.beside, y + dy - LABEL.half, y + dy + LABEL.half];
        const crossed = lines.filter((line) => passes(line, box)).length;
        return { place, box, cost: [isClear(box, k) ? 0 : 1, crossed, number] };
      }).filter(({ box, cost }) => isWhole(box) && (cost[0] === 0 || rank < LABEL.most));
      return all.sort((a, b) => a.cost[0] - b.cost[0] || a.cost[1] - b.cost[1] || a.cost[2] - b.cost[2]);
    };
    const put = (k, { place, box }) => { offsets[k] = place; taken.set(k, box); };
    const inTheWay = (box, but) => [...taken.keys()].filter((k) => k !== but && !isApart(taken.get(k), box));
    const waiting = order.filter(isInside).filter((k, rank) => {
      spots.set(k, find(k, rank));
      const free = spots.get(k).find(({ box }) => inTheWay(box).length === 0);
      if (free) put(k, free);
      return !free;
    });
    for (const k of waiting) {
      for (const spot of spots.get(k)) {
        const others = inTheWay(spot.box);
        const isFree = ({ box }) => inTheWay(box, others[0]).length === 0 && isApart(box, spot.box);
        const elsewhere = others.length === 1 ? spots.get(others[0]).find(isFree) : undefined;
        if (elsewhere) {
          put(others[0], elsewhere);
          put(k, spot);
          break;
        }
      }
    }
    return offsets;
  };

  // A map of sites, coloured by the weights of the edges of one of them, the seed.
  class SeedMap {
    constructor(section, box) {
      this.section = section;
      this.sites = section.data.sites;
      this.box = box;
      const [across, down] = [0, 1].map((axis) => this.sites.map((site) => site[axis]));
      const [width, height] = [across, down].map((values) => Math.max(...values) - Math.min(...values) + 1.2);
      const svg = this.shape("svg", { viewBox: `${Math.min(...across) - 0.6} ${Math.min(...down) - 0.6} ${width} ${height}`, "aria-hidden": "true" });
      svg.style.maxWidth = `${Math.min(36, 4.2 * width)}rem`;
      const isGrid = this.sites.every((site) => site.every((value) => Math.abs(value - Math.round(value)) < 1e-6));
      const place = ([x, y]) => ({ x: x - 0.5, y: y - 0.5 });
      this.cells = this.sites.map((site, k) => {
        const cell = this.shape("rect", { ...place(site), width: 1, height: 1, rx: isGrid ? 0 : 0.5, stroke: FAINT, "stroke-width": 0.03 });
        cell.dataset.site = k;
        return cell;
      });
      this.frame = this.shape("rect", { width: 1, height: 1, rx: isGrid ? 0 : 0.5, stroke: INK, "stroke-width": 0.14, fill: NEUTRAL, "pointer-events": "none" });
      svg.append(...this.cells, this.frame);
      box.append(svg);
      const strength = this.sites.map(() => 0);
      section.sizes.forEach((size, k) => {
        strength[section.data.source[k]] += size;
        strength[section.data.target[k]] += size;
      });
      this.pinned = strength.indexOf(Math.max(...strength));
      this.seed = this.pinned;
      const under = (event) => event.target.dataset?.site;
      svg.addEventListener("pointermove", (event) => { if (under(event) !== undefined) this.show(Number(under(event))); });
      svg.addEventListener("pointerleave", () => this.show(this.pinned));
      svg.addEventListener("click", (event) => { if (under(event) !== undefined) section.choose([Number(under(event))]); });
      box.addEventListener("keydown", (event) => this.press(event));
      this.legend();
    }

    shape(name, attributes) {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      return made;
    }

    // An arrow goes to the nearest site that lies mainly in its direction.
    press(event) {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key === "Enter") this.section.choose([this.seed]);
      if (step === undefined) return;
      event.preventDefault();
      const [x, y] = this.sites[this.seed];
      let [best, least] = [this.seed, Infinity];
      this.sites.forEach(([a, b], k) => {
        const along = (a - x) * step[0] + (b - y) * step[1];
        const aside = Math.abs((a - x) * step[1]) + Math.abs((b - y) * step[0]);
        if (along > 1e-6 && along + 2 * aside < least && aside <= along) [best, least] = [k, along + 2 * aside];
      });
      this.pinned = best;
      this.show(best);
    }

    // Colour the sites by the edges of one, among those that the sliders leave.
    show(seed) {
      this.seed = seed;
      const { names, source, target, weight, signed } = this.section.data;
      const colors = this.sites.map(() => BEHIND);
      const joined = [];
      for (const k of this.section.kept) {
        if (source[k] !== seed && target[k] !== seed) continue;
        const other = source[k] === seed ? target[k] : source[k];
        colors[other] = shade(weight[k] ?? 0, this.section.largest, signed === null || signed[k], WEAKEST);
        joined.push(`${names[other]} (${(weight[k] ?? 0) > 0 ? "+" : ""}${Number((weight[k] ?? 0).toPrecision(2))})`);
      }
      this.cells.forEach((cell, k) => cell.setAttribute("fill", colors[k]));
      this.frame.setAttribute("x", this.sites[seed][0] - 0.5);
      this.frame.setAttribute("y", this.sites[seed][1] - 0.5);
      const strongest = joined.length ? `: strongest ${joined.slice(0, 3).join(", ")}` : "";
      this.section.element.querySelector(".seeded").textContent
        = `${names[seed]} is joined to ${joined.length} of ${names.length - 1} sites${strongest}`;
    }

    legend() {
      const { element, largest, data } = this.section;
      const least = Math.min(0, ...data.weight), most = Math.max(0, ...data.weight);
      const isSigned = data.signed === null;
      const stops = Array.from({ length: 21 }, (_, k) => least + ((most - least) * k) / 20);
      element.querySelector(".bar").style.background = `linear-gradient(to right, ${stops.map((value) => shade(value, largest, isSigned, WEAKEST)).join(", ")})`;
      element.querySelector(".lowest").textContent = Number(least.toPrecision(2)).toString().replace("-", "\u2212");
      element.querySelector(".highest").textContent = `${most > 0 ? "+" : ""}${Number(most.toPrecision(2))}`;
    }
  }

  class Section {
    constructor(element) {
      this.element = element;
      this.key = element.dataset.key;
      this.data = JSON.parse(element.querySelector(".network").textContent);
      this.sizes = this.data.weight.map((w) => (w === null ? 0 : Math.abs(w)));
      this.largest = Math.max(0, ...this.sizes);
      this.kept = [];
      this.marked = new Set();
      this.isPair = false;
      this.shown = new Set(this.data.shown);
      const names = element.querySelector("datalist");
      for (const name of this.data.names.slice(0, 2000)) {
        const option = document.createElement("option");
        option.value = name;
        names.append(option);
      }
      for (const control of [".by-weight", ".by-confidence", ".open-edges", ".all-edges"]) {
        element.querySelector(control)?.addEventListener("input", () => this.filter());
      }
      element.querySelector(".search").addEventListener("input", () => this.search());
      element.querySelector(".clear").addEventListener("click", () => this.choose([]));
      this.number = new Map(this.data.names.map((name, k) => [name, k]));
      this.link();
      element.querySelector(".download").addEventListener("click", () => this.download());
      const frame = model(`network-${this.key}`);
      const most = frame.frame_width, ratio = frame.frame_height / frame.frame_width;
      const fit = () => {
        const wide = Math.min(most, Math.max(240, element.querySelector(".drawing").clientWidth - 10));
        // On a narrow page the picture is higher than its share, or nothing could be told apart.
        const tall = Math.round(Math.max(ratio * wide, Math.min(1.3 * wide, 460)));
        if (wide !== frame.frame_width) frame.setv({ frame_width: wide, frame_height: tall });
        element.style.setProperty("--on-paper", Math.min(1, PAPER_WIDTH / wide));
      };
      fit();
      window.addEventListener("resize", () => { fit(); this.relabel(); });
      this.listen();
      for (const range of [frame.x_range, frame.y_range]) range.change.connect(() => this.relabel());
      const labels = model(`labels-${this.key}`);
      labels.text_color = { value: INK };
      labels.background_fill_color = { value: BEHIND };
      const matrix = model(`matrix-${this.key}`);
      for (const axis of [...matrix.above, ...matrix.left]) axis.major_label_text_color = INK;
      this.head();
      if (this.data.sites) this.seeds = new SeedMap(this, element.querySelector(".seeds"));
      this.filter();
    }

    least(control) {
      const input = this.element.querySelector(control);
      return input ? Number(input.value) / 100 : 0;
    }

    filter() {
      const weight = this.least(".by-weight") * this.largest;
      const confidence = this.least(".by-confidence");
      const isOpen = this.element.querySelector(".open-edges")?.checked;
      this.kept = [];
      this.sizes.forEach((size, k) => {
        const sure = this.data.confidence === null || (this.data.confidence[k] ?? 0) >= confidence;
        const asked = !isOpen || !this.data.decided[k];
        if (size >= weight && sure && asked) this.kept.push(k);
      });
      const tell = (where, text) => {
        const output = this.element.querySelector(where);
        if (output) output.textContent = text;
      };
      tell(".least-weight", weight.toPrecision(2));
      tell(".least-confidence", confidence.toFixed(2));
      this.draw();
      this.list();
      this.listNodes();
      this.light();
      this.seeds?.show(this.seeds.seed);
    }

    draw() {
      const nodes = model(`nodes-${this.key}`);
      if (!nodes) return;
      const { names, source, target, weight, confidence, decided, directed } = this.data;
      const told = (k) => (decided ? PROVEN[Number(decided[k])] : null);
      const degree = names.map(() => 0);
      for (const k of this.kept) {
        degree[source[k]] += 1;
        degree[target[k]] += 1;
      }
      this.degree = degree;
      const edges = { x0: [], y0: [], x1: [], y1: [], width: [], color: [], weight: [], confidence: [], decided: [], dash: [], source: [], target: [] };
      const arrows = { x: [], y: [], angle: [], color: [], size: [] };
      const cells = { x: [], y: [], color: [], weight: [], confidence: [], decided: [], source: [], target: [] };
      const isLit = (k) => this.isLit(source[k], target[k]);
      const hasSign = (k) => this.data.signed === null || this.data.signed[k];
      const cell = (row, column, k) => {
        cells.x.push(column); cells.y.push(row);
        cells.color.push(isLit(k) ? shade(weight[k] ?? 0, this.largest, hasSign(k)) : FAINT);
        cells.weight.push(weight[k]); cells.confidence.push(confidence ? confidence[k] : null);
        cells.decided.push(told(k));
        cells.source.push(names[source[k]]); cells.target.push(names[target[k]]);
      };
      // No more edges than can be told apart, unless all are asked for; what is chosen is drawn, on top of the rest.
      const isAll = this.element.querySelector(".all-edges")?.checked;
      const first = [...this.kept.filter((k) => this.shown.has(k)), ...this.kept.filter((k) => !this.shown.has(k))];
      const some = new Set(isAll ? first : first.slice(0, this.shown.size));
      const isChosen = (k) => this.marked.size > 0 && isLit(k);
      const drawn = this.kept.filter((k) => some.has(k) || isChosen(k));
      this.drawn = [...drawn.filter((k) => !isChosen(k)), ...drawn.filter(isChosen)];
      // A large network has places for the nodes that are drawn at first, and others for all.
      const isPlaced = (k) => this.data.places[source[k]] !== null && this.data.places[target[k]] !== null;
      this.places = this.drawn.every(isPlaced) ? this.data.places : this.data.whole;
      const { places } = this;
      this.n_placed = places.filter((place) => place !== null).length;
      const { frame_width: wide, frame_height: tall } = model(`network-${this.key}`);
      const size = Math.min(11, Math.max(4, 0.22 * Math.sqrt((wide * tall) / this.n_placed)));
      nodes.data = {
        size: names.map(() => size), x: places.map((p) => p?.[0] ?? NaN), y: places.map((p) => p?.[1] ?? NaN), name: names, degree, ...this.labels(),
      };
      for (const k of this.kept) {
        cell(source[k], target[k], k);
        if (!directed) cell(target[k], source[k], k);
      }
      for (const k of this.drawn) {
        const [a, b] = [places[source[k]], places[target[k]]];
        const share = this.largest > 0 ? this.sizes[k] / this.largest : 1;
        const width = 0.9 + 4 * share;
        const solid = Math.round(255 * (WEAK + (1 - WEAK) * share)).toString(16);
        const color = isLit(k) ? `${sign(weight[k] ?? 0, hasSign(k))}${isChosen(k) ? "FF" : solid}` : FAINT;
        edges.x0.push(a[0]); edges.y0.push(a[1]); edges.x1.push(b[0]); edges.y1.push(b[1]);
        edges.width.push(width); edges.color.push(color); edges.weight.push(weight[k]);
        edges.confidence.push(confidence ? confidence[k] : null);
        edges.decided.push(told(k)); edges.dash.push(decided && !decided[k] ? "6 4" : "");
        edges.source.push(names[source[k]]); edges.target.push(names[target[k]]);
        if (directed) {
          const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
          const length = Math.hypot(dx, dy) || 1;
          const back = Math.min(14, length / 3);
          arrows.x.push(b[0] - (dx / length) * back); arrows.y.push(b[1] - (dy / length) * back);
          arrows.angle.push(Math.atan2(dy, dx) - Math.PI / 2); arrows.color.push(color);
          arrows.size.push(6 + width);
        }
      }
      model(`edges-${this.key}`).data = edges;
      model(`arrows-${this.key}`).data = arrows;
      model(`cells-${this.key}`).data = cells;
      this.name(nodes.data);
      this.count();
      this.isDrawing = true;
      nodes.selected.indices = [...this.marked];
      model(`edges-${this.key}`).selected.indices = [];
      this.isDrawing = false;
    }

    count() {
      const { n_edges: all, noun, names, whole } = this.data;
      const among = whole && this.places !== whole ? `, among ${this.n_placed} of ${names.length} nodes` : "";
      this.element.querySelector(".count").textContent = this.seeds
        ? `${this.kept.length} of ${all} ${noun}s in the map, ${this.drawn.length} drawn as lines`
        : `${this.drawn.length} of ${all} ${noun}s shown${among}`;
    }

    // An edge is lit when nothing is chosen, when a chosen node is one of its ends, or when it is itself chosen.
    isLit(a, b) {
      if (this.marked.size === 0) return true;
      return this.isPair ? this.marked.has(a) && this.marked.has(b) : this.marked.has(a) || this.marked.has(b);
    }

    // Choose nodes, or the pair of an edge, in the figures and in all tables.
    choose(nodes, isPair = false) {
      this.marked = new Set(nodes);
      this.isPair = isPair;
      this.draw();
      this.light();
      if (this.seeds && nodes.length) {
        [this.seeds.pinned] = nodes;
        this.seeds.show(nodes[0]);
      }
      const names = nodes.slice(0, 3).map((k) => this.data.names[k]);
      this.element.querySelector(".clear").hidden = nodes.length === 0;
      this.element.querySelector(".found").textContent = nodes.length ? `Chosen: ${names.join(isPair ? " and " : ", ")}` : "";
    }

    // Pointers on nodes and edges; both may be told of one click, and nodes lie on top.
    listen() {
      const sources = ["nodes", "edges"].map((name) => model(`${name}-${this.key}`));
      let isWaiting = false;
      for (const { selected } of sources) {
        selected.properties.indices.change.connect(() => {
          if (this.isDrawing || isWaiting) return;
          isWaiting = true;
          window.setTimeout(() => {
            isWaiting = false;
            const [[node], [edge]] = sources.map((source) => [...source.selected.indices]);
            if (node !== undefined) this.choose([node]);
            else if (edge !== undefined) this.chooseEdge(this.drawn[edge]);
            else this.choose([]);
          }, 0);
        });
      }
    }

    chooseEdge(k) {
      this.choose([this.data.source[k], this.data.target[k]], true);
    }

    // Rows of tables choose the nodes that they name.
    link() {
      for (const row of this.element.querySelectorAll("table.sortable:not(.edges):not(.nodes) tbody tr, .found-rows tr")) {
        const nodes = [...row.cells].flatMap((cell) => this.named(cell.textContent));
        if (nodes.length) this.linkRow(row, nodes);
      }
      const act = (event) => {
        const row = event.target.closest("tr[data-nodes]");
        if (!row || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
        event.preventDefault();
        const nodes = row.dataset.nodes.split(" ").map(Number);
        this.choose(row.classList.contains("own") ? [] : nodes, nodes.length > 1);
        row.classList.toggle("own", this.marked.size > 0);
      };
      this.element.addEventListener("click", act);
      this.element.addEventListener("keydown", act);
    }

    // The nodes that a cell names: one, or the two of an edge, which may be followed by its class.
    named(text) {
      if (this.number.has(text)) return [this.number.get(text)];
      const pair = text.replace(/ \| .*$/, "").split(/ [\u2013\u2192-] /).map((name) => this.number.get(name));
      return pair.length === 2 && !pair.includes(undefined) ? pair : [];
    }

    linkRow(row, nodes) {
      row.dataset.nodes = nodes.slice(0, 2).join(" ");
      row.tabIndex = 0;
    }

    light() {
      for (const row of this.element.querySelectorAll("tr[data-nodes]")) {
        const [a, b = a] = row.dataset.nodes.split(" ").map(Number);
        row.classList.toggle("chosen", this.marked.size > 0 && (a === b ? this.marked.has(a) : this.isLit(a, b)));
        row.classList.remove("own");
      }
    }

    // What is chosen comes first, then its neighbours, then the nodes with most neighbours; a pointer tells the rest.
    labels() {
      const { places, data: { names } } = this;
      const { x_range: across, y_range: up, frame_width: wide, frame_height: tall } = model(`network-${this.key}`);
      // A node without an edge has no place, and no name in the picture.
      const points = places.map((place) => (place === null ? [NaN, NaN] : [
        (wide * (place[0] - across.start)) / (across.end - across.start), (tall * (place[1] - up.start)) / (up.end - up.start),
      ]));
      // Bokeh would typeset what stands between such signs, with a library from outside.
      const plain = (name) => name.replaceAll("$$", "$\u200b$").replaceAll(/\\([([])/g, "\\\u200b$1");
      const short = (name) => (name.length > 24 ? `${name.slice(0, 15)}…${name.slice(-8)}` : name);
      const texts = names.map((name) => plain(short(name)));
      const near = new Set(this.drawn.filter((k) => this.marked.size && this.isLit(this.data.source[k], this.data.target[k])).flatMap((k) => [this.data.source[k], this.data.target[k]]));
      const rank = (k) => this.degree[k] + names.length * (2 * this.marked.has(k) + near.has(k));
      const order = names.map((_, k) => k).sort((a, b) => rank(b) - rank(a) || a - b);
      // Of very many edges the picture is full of lines anyway.
      const lines = this.drawn.length > LABEL.lines ? [] : this.drawn.map((k) => [points[this.data.source[k]], points[this.data.target[k]]]);
      const offsets = placeLabels(points, texts, order, [wide, tall], lines);
      return {
        label: texts.map((text, k) => (offsets[k] ? text : "")),
        dx: offsets.map((offset) => offset?.[0] ?? 0), dy: offsets.map((offset) => offset?.[1] ?? 0),
      };
    }

    // Write the names. Bokeh may draw the box of the last one where something is chosen, so that an empty one far off
    // comes last.
    name({ x, y, label, dx, dy }) {
      model(`names-${this.key}`).data = {
        x: [...x, -1e6], y: [...y, -1e6], label: [...label, ""], dx: [...dx, 0], dy: [...dy, 0],
      };
    }

    // After a zoom there is other room for names; once for all changes until the next picture.
    relabel() {
      if (this.waiting) return;
      this.waiting = true;
      window.requestAnimationFrame(() => {
        this.waiting = false;
        const nodes = model(`nodes-${this.key}`);
        nodes.data = { ...nodes.data, ...this.labels() };
        this.name(nodes.data);
      });
    }

    search() {
      const text = this.element.querySelector(".search").value.trim().toLowerCase();
      const found = this.element.querySelector(".found");
      const isFound = (k) => this.data.names[k].toLowerCase().includes(text);
      this.choose(text ? [...this.data.names.keys()].filter(isFound) : []);
      found.textContent = text ? `${this.marked.size} ${this.marked.size === 1 ? "node" : "nodes"} found` : "";
    }

    heads() {
      return ["source", "target", "weight", ...(this.data.confidence ? ["confidence"] : []), ...(this.data.decided ? ["decided"] : []), ...Object.keys(this.data.more)];
    }

    head() {
      const heads = this.heads();
      const row = this.element.querySelector(".edges thead tr");
      for (const text of heads) {
        const head = document.createElement("th");
        const button = document.createElement("button");
        head.scope = "col"; button.type = "button"; button.textContent = text.replaceAll("_", " ");
        head.append(button); row.append(head);
      }
    }

    values(k) {
      const { names, source, target, weight, confidence, decided, more } = this.data;
      return [
        names[source[k]], names[target[k]], weight[k], ...(confidence ? [confidence[k]] : []), ...(decided ? [decided[k] ? "yes" : "no"] : []), ...Object.values(more).map((column) => column[k]),
      ];
    }

    list() {
      const body = this.element.querySelector(".edges tbody");
      const digits = this.heads().map((head) => this.data.decimals[head]);
      body.replaceChildren(...this.kept.slice(0, SHOWN).map((k) => {
        const row = this.row(this.values(k), digits);
        this.linkRow(row, [this.data.source[k], this.data.target[k]]);
        return row;
      }));
      if (this.kept.length > SHOWN) {
        const row = body.insertRow();
        const cell = row.insertCell();
        cell.colSpan = this.heads().length;
        cell.textContent = `${this.kept.length - SHOWN} more in the download`;
      }
    }

    // Numbers of a column have the same digits behind the point; those that these would hide show their size.
    row(values, digits = []) {
      const row = document.createElement("tr");
      values.forEach((value, column) => {
        const cell = document.createElement("td");
        const places = digits[column] ?? null;
        const isHidden = value !== 0 && Math.abs(value) < 0.5 * 0.1 ** places;
        if (typeof value !== "number" || places === null) cell.textContent = value ?? "";
        else cell.textContent = isHidden ? value.toExponential(1) : value.toFixed(places);
        if (typeof value === "number") cell.className = "n";
        row.append(cell);
      });
      return row;
    }

    // Nodes with their neighbours and the sum of the strengths of their edges, among those shown.
    listNodes() {
      const strength = this.data.names.map(() => 0);
      for (const k of this.kept) {
        strength[this.data.source[k]] += this.sizes[k];
        strength[this.data.target[k]] += this.sizes[k];
      }
      const order = [...this.data.names.keys()].sort((a, b) => strength[b] - strength[a]);
      this.element.querySelector(".nodes tbody").replaceChildren(...order.slice(0, SHOWN).map((k) => {
        const row = this.row([this.data.names[k], this.degree[k], Number(strength[k].toPrecision(3))]);
        this.linkRow(row, [k]);
        return row;
      }));
    }

    download() {
      const quote = (value) => {
        const text = value === null ? "" : String(value);
        // A spreadsheet would run text that begins like a formula.
        const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
        return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
      };
      const heads = this.heads();
      const lines = [heads, ...this.kept.map((k) => this.values(k))].map((row) => row.map(quote).join(","));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
      link.download = "edges.csv";
      link.click();
      URL.revokeObjectURL(link.href);
    }
  }

  const sort = (head) => {
    const table = head.closest("table");
    const column = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows];
    const value = (row) => row.cells[column]?.textContent ?? "";
    const numeric = rows.every((row) => value(row) === "" || !Number.isNaN(Number(value(row))));
    rows.sort((a, b) => (numeric ? Number(value(a)) - Number(value(b)) : value(a).localeCompare(value(b))));
    if (down) rows.reverse();
    table.tBodies[0].append(...rows);
  };

  const begin = () => {
    const elements = [...document.querySelectorAll("section.report")];
    if (!elements.every((element) => model(`cells-${element.dataset.key}`))) {
      window.setTimeout(begin, 50);
      return;
    }
    window.edgewiseSections = elements.map((element) => new Section(element));
    document.addEventListener("click", (event) => {
      const button = event.target.closest(".sortable thead button");
      if (button) sort(button.closest("th"));
    });
    // What is folded away is printed too.
    let folded = [];
    window.addEventListener("beforeprint", () => {
      // A network of sites is in the map, which says more than its lines.
      folded = [...document.querySelectorAll("details:not([open]):not(.lines)")];
      for (const details of folded) details.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const details of folded) details.open = false;
    });
    document.body.dataset.ready = "yes";
  };

  // Bokeh's script is packed, as it is most of the page.
  const unpack = async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("bokeh").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    Bokeh.embed.embed_items(...JSON.parse(document.getElementById("figures").textContent));
    begin();
  };
  unpack().catch((problem) => {
    document.querySelector(".old").hidden = false;
    throw problem;
  });
})();
