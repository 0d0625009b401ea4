import { readFileSync, writeFileSync } from 'node:fs';

/** Replaces what stands between `<!-- <name>:begin -->` and `<!-- <name>:end -->` in a file. */
export function replaceBetweenMarkers(path, name, text) {
  const begin = `<!-- ${name}:begin -->`;
  const end = `<!-- ${name}:end -->`;
  const document = readFileSync(path, 'utf8');
  const from = document.indexOf(begin);
  const until = document.indexOf(end);
  if (from < 0 || until < from) throw new Error(`${path} has no ${begin} … ${end}`);
  const kept = [document.slice(0, from + begin.length), document.slice(until)];
  writeFileSync(path, `${kept[0]}\n${text.trim()}\n${kept[1]}`);
}
