// Builds the files that the Rust crate embeds: `npm run build`. With `--check`, compares them with those checked in.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
export const assets = join(here, "../crates/oxport-view/assets");

/** The licences of what is in the bundle, by package. */
function licences(metafile) {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (found) names.add(found[1]);
  }
  // The distribution of dagre has these within.
  if (names.has("@dagrejs/dagre")) names.add("@dagrejs/graphlib");
  const texts = [...names].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (!file) throw new Error(`expected a licence text in ${name}`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `The file viewer.js has these packages within.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** The files, by name. */
export async function outputs() {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(here, "src/main.js")],
    bundle: true, minify: true, format: "iife", target: ["chrome111", "firefox114", "safari16.4"], charset: "ascii",
    legalComments: "none", metafile: true, write: false, outdir: mkdtempSync(join(tmpdir(), "oxport-viewer-")), absWorkingDir: here,
  });
  const script = outputFiles[0].text.trim();
  // Within an element `script`, these would end it or change how it is read.
  for (const part of ["</script", "<!--"]) if (script.includes(part)) throw new Error(`expected a script without ${part}`);
  const { outputFiles: [css] } = await build({ entryPoints: [join(here, "src/style.css")], minify: true, write: false, target: ["chrome111"] });
  const style = css.text.trim();
  const hash = (text) => `sha256-${createHash("sha256").update(text, "utf8").digest("base64")}`;
  return {
    "viewer.js": script,
    "viewer.css": style,
    "integrity.txt": `script=${hash(script)}\nstyle=${hash(style)}\n`,
    "LICENSES.txt": licences(metafile),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = await outputs();
  let isSame = true;
  for (const [name, text] of Object.entries(files)) {
    const path = join(assets, name);
    if (!process.argv.includes("--check")) writeFileSync(path, text);
    else if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
      console.error(`${name} differs from a build: run \`npm run build\``);
      isSame = false;
    }
  }
  process.exitCode = isSame ? 0 : 1;
}
