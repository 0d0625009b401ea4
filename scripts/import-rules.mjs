// Who may import whom inside packages/server/src (ARCHITECTURE.md). oxlint's no-restricted-imports sees
// how a path is spelled, not where it leads, and cannot tell a dynamic import from a static one.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { isMain, root } from './program.mjs';

const contracts = /(^|[/.])contract\.ts$/;
const anything = /^(?!\.\.)/;
const feature = [contracts, /^(kernel|platform)\//];

/**
 * A file follows the first row that it matches; a file in no row is a fault. `lazily` = only by a
 * dynamic import. `packages`, where given, are all that may be imported from outside.
 */
const rules = [
  { files: /\.test\.ts$/, may: [/^/] },
  { files: contracts, may: [contracts, /^kernel\//], packages: ['typebox'] },
  { files: /^app\.ts$/, may: [anything] },
  { files: /^kernel\//, may: [/^kernel\//] },
  { files: /^config\//, may: [/^(config|kernel)\//] },
  { files: /^platform\//, may: [/^(platform|kernel)\//] },
  { files: /^access\//, may: [/^access\//, ...feature] },
  { files: /^records\//, may: [/^records\//, ...feature] },
  { files: /^exports\//, may: [/^exports\//, /^records\/index\.ts$/, ...feature] },
  { files: /^retention\//, may: [/^retention\//, /^records\/index\.ts$/, ...feature] },
  { files: /^webhooks\//, may: [/^webhooks\//, ...feature] },
  { files: /^cli\//, may: [contracts, /^(cli|config|kernel)\//], lazily: [/^app\.ts$/] },
];

/** One sentence for each import under `folder` that the rules forbid. */
export function findForbiddenImports(folder) {
  return readdirSync(folder, { recursive: true })
    .map((path) => String(path).split(sep).join('/'))
    .filter((path) => path.endsWith('.ts'))
    .sort()
    .flatMap((path) => faultsOf(path, readFileSync(join(folder, path), 'utf8')));
}

function faultsOf(file, text) {
  const rule = rules.find(({ files }) => files.test(file));
  if (rule === undefined) return [`${file} is in no row of the import rules`];
  const fits = (patterns, path) => patterns.some((pattern) => pattern.test(path));
  return importsOf(text).flatMap(({ specifier, line, isDynamic }) => {
    const at = `${file}:${line}`;
    if (specifier === undefined) return [`${at} imports what cannot be checked: name it in quotes`];
    if (!specifier.startsWith('.')) {
      const isAllowed = rule.packages?.includes(specifier) ?? true;
      return isAllowed ? [] : [`${at} may not import the package ${specifier}`];
    }
    const path = posix.join(dirname(file), specifier);
    if (fits(rule.may, path)) return [];
    if (!fits(rule.lazily ?? [], path)) return [`${at} may not import ${path}`];
    return isDynamic ? [] : [`${at} may import ${path} only by await import()`];
  });
}

const staticImport = /^\s*(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*['"]([^'"]+)['"]/gm;
const dynamicImport = /\bimport\(\s*(?:['"]([^'"]+)['"]\s*\))?/g;

function importsOf(text) {
  const code = text.replace(/^[ \t]*(\/\/|\/?\*).*$/gm, '');
  const matches = (pattern, isDynamic) =>
    [...code.matchAll(pattern)].map((match) => {
      const line = code.slice(0, match.index + match[0].length).split('\n').length;
      return { specifier: match[1], line, isDynamic };
    });
  return [...matches(staticImport, false), ...matches(dynamicImport, true)];
}

if (isMain(import.meta.url)) {
  const source = join(root, 'packages', 'server', 'src');
  const faults = findForbiddenImports(source);
  for (const fault of faults) process.stdout.write(`${relative(root, source)}/${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}
