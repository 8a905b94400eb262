// SPDX-License-Identifier: Apache-2.0
// Bundles the page: node build.mjs FOLDER. Scripts and styles carry a hash of their content in
// their names, so that browsers may keep them for ever; index.html names them.
import { build } from 'esbuild';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';

const script_bytes_max = 120_000; // gzipped; what a telephone on a market should have to load

const folder = process.argv[2] ?? 'dist';
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const made = await build({
  entryPoints: { page: 'src/main.tsx' },
  outdir: folder,
  entryNames: '[name]-[hash]',
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  metafile: true,
});

const files = Object.keys(made.metafile.outputs).map((path) => basename(path));
const named = (ending) => {
  const found = files.filter((file) => file.endsWith(ending));
  if (found.length !== 1) throw new Error(`expected one ${ending}, found ${found.length}`);
  return found[0];
};

const script = named('.js');
const html = readFileSync('src/index.html', 'utf8')
  .replace('page.js', script)
  .replace('page.css', named('.css'));
writeFileSync(join(folder, 'index.html'), html);
writeFileSync(join(folder, 'icon.svg'), readFileSync('src/icon.svg'));

const bytes = gzipSync(readFileSync(join(folder, script))).length;
console.log(`${script}: ${bytes} bytes gzipped, of ${script_bytes_max} at most`);
if (bytes > script_bytes_max) {
  console.error('the script has grown too large');
  process.exit(1);
}
