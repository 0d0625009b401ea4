import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { formatRatio, markdownTable, none, readTables } from './lib/table.mjs';

/** The ratios of the run that later ones are compared with, by bench, section and row. */
const figuresPath = fileURLToPath(new URL('guard.json', import.meta.url));

/** What is run in its quick form, `rounds` times: about ten minutes in all. */
const guarded = {
  records: ['ingest', 'singles', 'pages', 'export'],
  webhooks: ['incidents', 'throughput'],
  exports: ['formats'],
};
const rounds = 3;

/** Rounds of the same code may lie closer together by chance than the next run lies: less than this is never noise. */
const leastNoise = 1.15;

/**
 * Runs the ratios of the other benches in short forms, three rounds of each, and compares their medians with those that
 * were kept last. The noise of a ratio is how far its own rounds lay apart, now or when it was kept. It shows what has
 * slid back by more than that, and fails nothing unless it `isStrict`. `isKept` keeps this run's ratios for later ones.
 */
export async function runBench({ isKept, isStrict }) {
  const kept = JSON.parse(readFileSync(figuresPath, 'utf8'));
  const found = [];
  for (let round = 0; round < rounds; round += 1) found.push(await runRound());
  const medians = medianOf(found);
  if (isKept) writeFileSync(figuresPath, `${JSON.stringify(medians, null, 2)}\n`);
  process.stdout.write(`\n### Against the ratios kept last\n\n${compare(medians, kept)}\n`);
  const lost = Object.keys(kept).filter((name) => verdict(medians[name], kept[name]) === slidBack);
  if (isStrict && lost.length > 0) throw new Error(`slid back: ${lost.join('; ')}`);
}

async function runRound() {
  const ratios = {};
  for (const [name, only] of Object.entries(guarded)) {
    const { runBench: run } = await import(`./${name}.mjs`);
    const texts = await run({ size: 'quick', only });
    only.forEach((section, i) => {
      Object.assign(ratios, readRatios(texts[i], `${name} ${section}`));
    });
  }
  return ratios;
}

/** The median of each ratio over the rounds, and its noise: the greatest of them divided by the least. */
export function medianOf(found) {
  const names = [...new Set(found.flatMap((ratios) => Object.keys(ratios)))];
  return Object.fromEntries(
    names.map((name) => {
      const all = found.flatMap((ratios) => ratios[name] ?? []);
      const sorted = all.map(({ ratio }) => ratio).sort((a, b) => a - b);
      const noise = Number((sorted.at(-1) / sorted[0]).toFixed(2));
      return [name, { ratio: sorted[sorted.length >> 1], better: all[0].better, noise }];
    }),
  );
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
    return [name, ...shown, formatRatio(noiseOf(now, before)), verdict(now, before)];
  });
  return markdownTable(['', 'now:', 'kept:', 'noise:', ''], rows);
}

function noiseOf(now, before) {
  return Math.max(leastNoise, now?.noise ?? 1, before?.noise ?? 1);
}

const slidBack = '✗ slid back';

/** One word on a ratio: it slid back, or it is better by more than the noise. */
function verdict(now, before) {
  if (now === undefined) return 'gone';
  if (before === undefined) return 'new';
  const noise = noiseOf(now, before);
  const gain = now.better === 'more' ? now.ratio / before.ratio : before.ratio / now.ratio;
  if (gain < 1 / noise) return slidBack;
  return gain > noise ? 'better' : '';
}
