// Finds classes that nobody uses, and words in a className that no style sheet has: neither fails by itself.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './program.mjs';

const folder = join(root, 'packages', 'console', 'src');
const quoted = /'([^'\n]*)'|"([^"\n]*)"|`([^`]*)`/g;
const written = /\bclassName=(?:"([^"]*)"|\{((?:`[^`]*`|[^`{}])*)\})/g;

/**
 * Answers what is wrong with the styles in `files`, pairs of a path and its text. A module's classes are used as
 * `classes.name` by whoever imports it, those of other sheets as words in a className.
 */
export function findStyleFaults(files) {
  const parts = files.filter(([path]) => /\.tsx?$/.test(path)).map(([, text]) => text);
  const sheets = files.filter(([path]) => path.endsWith('.css'));
  const code = parts.join('\n');
  const texts = [...code.matchAll(quoted)].map(([text]) => text.replace(/\$\{[^}]*\}/g, ' '));
  const said = new Set(texts.flatMap(wordsIn));
  const known = new Set();
  const faults = [];
  for (const [path, css] of sheets) {
    const isModule = path.endsWith('.module.css');
    const used = isModule ? usesOf(path.replace(/.*\//, ''), parts) : said;
    for (const name of classesIn(css)) {
      if (!isModule) known.add(name);
      if (!used.has(name) && !used.has('[')) faults.push(`${path}: nobody uses .${name}\n`);
    }
  }
  for (const [, plain, computed = ''] of code.matchAll(written)) {
    // What a condition compares with is no class.
    const chosen = computed.replace(/=== '[^']*'/g, '');
    const literals = plain ?? [...chosen.matchAll(quoted)].map(([text]) => text).join(' ');
    for (const word of wordsIn(literals.replace(/\$\{[^}]*\}/g, ' '))) {
      if (!known.has(word)) faults.push(`no style sheet has the word ${word} of a className\n`);
    }
  }
  return faults;
}

const wordsIn = (text) => text.match(/[a-z][\w-]*/gi) ?? [];

function classesIn(css) {
  const selectors = css.replace(/\/\*[\s\S]*?\*\/|"[^"]*"|\{[^{}]*\}/g, ' ');
  return new Set([...selectors.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name]) => name));
}

/** The classes of the module `file` that parts name; `[` when one is chosen at run time. */
function usesOf(file, parts) {
  const uses = parts.flatMap((text) =>
    [...text.matchAll(/import (\w+) from '[^']*\/([^'/]*)'/g)]
      .filter(([, , from]) => from === file)
      .flatMap(([, name]) => [...text.matchAll(new RegExp(`\\b${name}(?:\\.(\\w+)|(\\[))`, 'g'))])
      .map(([, property, bracket]) => property ?? bracket),
  );
  return new Set(uses);
}

export function checkStyleWords() {
  const files = readdirSync(folder, { recursive: true })
    .filter((path) => /(?<!\.test)\.(tsx?|css)$/.test(path))
    .map((path) => [path, readFileSync(join(folder, path), 'utf8')]);
  return findStyleFaults(files).join('');
}
