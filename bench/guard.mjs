import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { formatRatio, markdownTable, none, readTables } from './lib/table.mjs';

/** The ratios of the run that later ones are compared with, by bench, section and row. */
const figuresPath = fileURLToPath(new URL('guard.json', import.meta.url));

/** What is run, in its quick form: about three minutes in all. */
const guarded = {
  records: ['ingest', 'singles', 'pages', 'export'],
  webhooks: ['incidents', 'throughput'],
  exports: ['formats'],
};

/** The same code gave ratios this far apart in quick runs of a quiet machine. */
const noise = 1.5;

/**
 * Runs the ratios of the other benches in short forms and compares each with the one that was kept last. It shows what
 * has slid back by more than the noise, and fails nothing. `isKept` keeps this run's ratios for later ones.
 */
export async function runBench({ isKept }) {
  const kept = JSON.parse(readFileSync(figuresPath, 'utf8'));
  const found = {};
  for (const [name, only] of Object.entries(guarded)) {
    const { runBench: run } = await import(`./${name}.mjs`);
    const texts = await run({ size: 'quick', only });
    only.forEach((section, i) => {
      Object.assign(found, readRatios(texts[i], `${name} ${section}`));
    });
  }
  if (isKept) writeFileSync(figuresPath, `${JSON.stringify(found, null, 2)}\n`);
  process.stdout.write(`\n### Against the ratios kept last\n\n${compare(found, kept)}\n`);
}

/** The ratios in the tables of a section that have a goal, by the name of their row. */
export function readRatios(text, section) {
  const ratios = {};
  for (const [titles, ...rows] of readTables(text)) {
    const column = titles.findIndex((title) => title === 'ratio' || title === 'ours to it');
    const goalColumn = titles.indexOf('goal', column);
    if (column < 0 || goalColumn < 0) continue;
    for (const row of rows) {
      const ratio = Number.parseFloat(row[column]);
      const bound = /^(?:.* )?([≥≤])/.exec(row[goalColumn])?.[1];
      if (Number.isNaN(ratio) || bound === undefined) continue;
      ratios[`${section}: ${row[0]}`] = { ratio, better: bound === '≥' ? 'more' : 'less' };
    }
  }
  return ratios;
}

export function compare(found, kept) {
  const names = [...new Set([...Object.keys(kept), ...Object.keys(found)])];
  const rows = names.map((name) => {
    const [now, before] = [found[name], kept[name]];
    const shown = [now, before].map((one) => (one === undefined ? none : formatRatio(one.ratio)));
    return [name, ...shown, verdict(now, before)];
  });
  const hint = `Ratios vary by up to ${noise} between quick runs of a quiet machine.`;
  return `${hint}\n\n${markdownTable(['', 'now:', 'kept:', ''], rows)}`;
}

/** One word on a ratio: it slid back, or it is better by more than the noise. */
function verdict(now, before) {
  if (now === undefined) return 'gone';
  if (before === undefined) return 'new';
  const gain = now.better === 'more' ? now.ratio / before.ratio : before.ratio / now.ratio;
  if (gain < 1 / noise) return '✗ slid back';
  return gain > noise ? 'better' : '';
}
