// A page like the one VS Code shows outputs on: its widget manager, and ears where VS Code has them. `heard` and `tell`
// are the kernel's; what VS Code would be told of keys, the wheel and files is kept in `told`.

window.told = { keys: [], turns: 0, saved: [] };

// VS Code takes every key that arrives at the window for a command, and scrolls the notebook by every turn of the wheel.
window.addEventListener("keydown", (event) => window.told.keys.push(event.key));
window.addEventListener("wheel", () => { window.told.turns += 1; });
// It saves the file that a link leads to, if the click is heard on the page.
document.body.addEventListener("click", async (event) => {
  const link = event.composedPath().find((one) => one instanceof HTMLAnchorElement);
  if (!link) return;
  event.preventDefault();
  const bytes = new Uint8Array(await (await fetch(link.href)).arrayBuffer());
  window.told.saved.push({ name: link.download, start: String.fromCharCode(...bytes.slice(0, 8)) });
});

/** A signal like those of Lumino. */
function signal() {
  return { connect: () => true, disconnect: () => true, emit: () => {} };
}

class Comm {
  constructor(id, target) {
    this.commId = id;
    this.targetName = target;
    this.disposed = signal();
  }

  send(data) {
    window.tell({ comm_id: this.commId, data });
    return { msg: { header: { msg_id: crypto.randomUUID() } } };
  }
}

const comms = new Map(), targets = new Map(), modules = new Map();

/** A connection to the kernel, as much of it as the manager uses. */
const kernel = {
  id: "kernel", name: "python3", username: "", clientId: "", status: "idle", connectionStatus: "connected",
  model: { id: "kernel", name: "python3" }, handleComms: true,
  iopubMessage: signal(), statusChanged: signal(), connectionStatusChanged: signal(), unhandledMessage: signal(),
  anyMessage: signal(), disposed: signal(), pendingInput: signal(),
  registerCommTarget: (name, opened) => targets.set(name, opened),
  requestCommInfo: async () => ({ content: { comms: {} } }),
};

// The extension loads the scripts of widgets with require.js. The manager defines its own by name, the others by need.
window.define = (name, made) => modules.set(name, made());
window.requirejs = ([name], found, failed) => (modules.has(name) ? found(modules.get(name)) : failed(name));
async function load(name) {
  if (modules.has(name)) return;
  const source = await (await fetch(new URL(`${name}.js`, import.meta.url))).text();
  const define = (needs, made) => modules.set(name, made(...needs.map((need) => modules.get(need))));
  new Function("define", source)(define);
}

async function take(manager, { header, content, metadata }) {
  const { comm_id: id, target_name: target, data } = content;
  if (header.msg_type === "comm_open") {
    comms.set(id, new Comm(id, target));
    await targets.get(target)(comms.get(id), { content, metadata, buffers: [] });
  } else if (header.msg_type === "comm_msg") await comms.get(id).onMsg({ content, metadata, buffers: [] });
  else if (["display_data", "execute_result"].includes(header.msg_type)) await show(manager, data);
  else if (header.msg_type === "error") console.error(content.evalue);
}

/** An output: the richest of what is given, alone. */
async function show(manager, data) {
  const output = document.createElement("div"), view = data["application/vnd.jupyter.widget-view+json"];
  output.className = "output";
  document.getElementById("container").append(output);
  if (!view) {
    output.innerHTML = data["text/html"];
    return;
  }
  const model = await manager.get_model(view.model_id);
  await manager.display_view({}, await manager.create_view(model, { el: output }), { node: output });
}

const { activate } = await import("/ipywidgets.js");
activate();
window.vscIPyWidgets8.load();
const loader = { widgetsRegisteredInRequireJs: new Set(), loadWidgetScript: load, successHandler: () => {},
  errorHandler: (...problem) => console.error(...problem) };
const manager = new window.vscIPyWidgets.WidgetManager(kernel, null, loader, () => {});
for (;;) {
  for (const message of await window.heard()) await take(manager, message);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
