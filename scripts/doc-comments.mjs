// Finds doc comments that document nothing: what they told of has moved away, or another comment came in between.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './program.mjs';

const folders = ['bench', 'e2e', 'packages', 'scripts', 'sim'];
const docComment = /^[ \t]*\/\*\*(?!\/)(?:[^*]|\*(?!\/))*\*\/[ \t]*\n/gm;
// Biome's suppressions must stand directly before what they are for, so a doc comment may only come before them.
const nothing = /^[ \t]*(\n|$|\/\*|\/\/(?! biome-ignore)|[)}\]])/;

/**
 * Answers the lines at which a doc comment begins that a blank line, another comment, or the end of a block or of the
 * text follows. Those that declare types stand for themselves.
 */
export function findStrayDocComments(text) {
  return [...text.matchAll(docComment)]
    .filter(([comment]) => !comment.includes('@typedef'))
    .filter(({ 0: comment, index }) => nothing.test(text.slice(index + comment.length)))
    .map(({ index }) => text.slice(0, index).split('\n').length);
}

export function checkDocComments() {
  return folders
    .flatMap((folder) => sourcesIn(join(root, folder)))
    .flatMap((path) =>
      findStrayDocComments(readFileSync(path, 'utf8')).map(
        (line) => `${relative(root, path)}:${line} is a doc comment that nothing follows\n`,
      ),
    )
    .join('');
}

/** The files with code that people write, in no folder that is made or installed. */
function sourcesIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return /\.(tsx?|m[jt]s)$/.test(entry.name) ? [path] : [];
    return ['dist', 'node_modules'].includes(entry.name) ? [] : sourcesIn(path);
  });
}
