// Checks who imports whom inside packages/server/src, and what the console imports of it; ARCHITECTURE.md has the
// rules. oxlint's no-restricted-imports cannot do this: it sees how a path is spelled, not where it leads, and cannot
// tell a dynamic import from a static one. Checks, too, that tests are named after what they test.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { isMain, root } from './program.mjs';

const contracts = /(^|[/.])contract\.ts$/;
// These files have closed lists and their types, without schema code: contract, command line and console share them.
const values = /(^|\/)values\.ts$/;
// These say how people filter lists, for the command line and the console.
const views = /(^|\/)view\.ts$/;
const anything = /^(?!\.\.)/;
const feature = [contracts, values, /^(kernel|platform)\//];

/**
 * A file must follow the first row that matches it; a file that matches no row is a fault. Imports that match `lazily`
 * may only be dynamic, and those that match `types` only `import type`, which leaves nothing behind in the built file.
 * `packages`, where given, lists all packages that may be imported.
 */
const serverRules = [
  { files: /\.test\.ts$/, may: [/^/] },
  // Code that tests share may import anything: it is not built.
  { files: /\/testing\//, may: [/^/] },
  { files: /^kernel\//, may: [/^kernel\//] },
  { files: values, may: [values, /^kernel\//], packages: [] },
  { files: views, may: [values, /^kernel\//], packages: [] },
  { files: contracts, may: [contracts, values, /^kernel\//], packages: ['typebox'] },
  { files: /^app(\.ts$|\/)/, may: [anything] },
  { files: /^config\//, may: [/^(config|kernel)\//] },
  { files: /^platform\//, may: [/^(platform|kernel)\//] },
  { files: /^access\//, may: [/^access\//, ...feature] },
  { files: /^checks\//, may: [/^checks\//, ...feature] },
  { files: /^records\//, may: [/^records\//, ...feature] },
  { files: /^exports\//, may: [/^exports\//, /^records\/(index|sql)\.ts$/, ...feature] },
  { files: /^retention\//, may: [/^retention\//, /^records\/segments\.ts$/, ...feature] },
  { files: /^iceberg\//, may: [/^iceberg\//, ...feature] },
  { files: /^webhooks\//, may: [/^webhooks\//, ...feature] },
  { files: /^backup\//, may: [/^backup\//, /^records\/(index|segments)\.ts$/, ...feature] },
  {
    files: /^cli\//,
    // It makes folders as the service does, and says what keeps the service from one.
    may: [
      contracts,
      values,
      views,
      /^(cli|config|kernel)\//,
      /^platform\/(make-folders|restore-mark)\.ts$/,
    ],
    lazily: [/^(app\.ts|\.\.\/demo\/demo\.mjs)$/],
  },
];

const serverContracts = /^\.\.\/\.\.\/server\/src\/(.*[/.])?contract\.ts$/;
const serverValues =
  /^\.\.\/\.\.\/server\/src\/((.*\/)?(values|view)|kernel\/(day|json-items))\.ts$/;

/** No feature of the console may import another: what several need belongs in `ui` or `api`. */
const consoleFeatures = [
  'access',
  'overview',
  'jobs',
  'records',
  'exports',
  'retention',
  'webhooks',
];

/**
 * The rules for the console; paths are relative to packages/console/src. What it imports as a value ends up in its
 * bundle.
 */
export const consoleRules = [
  { files: /\.test\.tsx?$/, may: [anything] },
  { files: /^api\//, may: [/^api\//, serverValues], types: [serverContracts] },
  { files: /^ui\//, may: [/^(ui|api)\//] },
  ...consoleFeatures.map((name) => ({
    files: new RegExp(`^${name}/`),
    may: [new RegExp(`^(${name}|ui|api)/`)],
  })),
  { files: /^frame\//, may: [anything] },
  { files: /^main\.tsx$/, may: [anything] },
];

/** The package for receivers depends on nothing at all, neither of npm nor of Node. */
const receiveRules = [
  { files: /\.test\.ts$/, may: [/^/] },
  { files: /^/, may: [anything], packages: [] },
];

/** Answers one sentence for each import under `folder` that the rules forbid. */
export function findForbiddenImports(folder, rules = serverRules) {
  return sourcesIn(folder).flatMap((path) =>
    faultsOf(rules, path, readFileSync(join(folder, path), 'utf8')),
  );
}

function sourcesIn(folder, named = /\.tsx?$/) {
  return readdirSync(folder, { recursive: true })
    .map((path) => String(path).split(sep).join('/'))
    .filter((path) => named.test(path))
    .sort();
}

/**
 * Answers one sentence for each folder under `folder` in which two files or folders import each other, directly or
 * around a cycle: neither could be read or moved without the other. Imports by tests do not count.
 */
export function findFolderCycles(folder) {
  const imports = new Map();
  for (const file of sourcesIn(folder)) {
    if (/\.test\.tsx?$|\/testing\//.test(file)) continue;
    for (const { specifier } of importsOf(readFileSync(join(folder, file), 'utf8'))) {
      if (!specifier?.startsWith('.')) continue;
      const imported = posix.join(dirname(file), specifier);
      const [from, to] = [file.split('/'), imported.split('/')];
      const depth = from.findIndex((name, index) => name !== to[index]);
      // Imports that leave the package, such as those of contracts by the console, cannot be part of a cycle.
      if (imported.startsWith('..')) continue;
      const parent = from.slice(0, depth).join('/');
      const siblings = imports.get(parent) ?? new Map();
      imports.set(parent, siblings);
      const targets = siblings.get(from[depth]) ?? new Map();
      siblings.set(from[depth], targets);
      if (!targets.has(to[depth])) targets.set(to[depth], `${file} imports ${imported}`);
    }
  }
  return [...imports].flatMap(([parent, siblings]) => {
    const cycle = findCycle(siblings);
    if (cycle === null) return [];
    const reasons = cycle.slice(1).map((name, index) => siblings.get(cycle[index]).get(name));
    return [`${parent && `${parent}/`} has a cycle ${cycle.join(' → ')}: ${reasons.join(', ')}`];
  });
}

/**
 * Answers the names along the first cycle that is found, with the first name repeated at the end, or null if there is
 * none.
 */
function findCycle(targetsOf) {
  const done = new Set();
  const walk = (name, path) => {
    const start = path.indexOf(name);
    if (start >= 0) return [...path.slice(start), name];
    if (done.has(name)) return null;
    for (const next of targetsOf.get(name)?.keys() ?? []) {
      const cycle = walk(next, [...path, name]);
      if (cycle !== null) return cycle;
    }
    done.add(name);
    return null;
  };
  for (const name of targetsOf.keys()) {
    const cycle = walk(name, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

/**
 * Answers one sentence for each test under `folder` that nobody who changes a source would find. The name up to its
 * first dot must be that of a file or folder beside the test, or of the folder it is in; or the name says `scenario`.
 */
export function findUnnamedTests(folder) {
  const paths = readdirSync(folder, { recursive: true }).map((path) =>
    String(path).split(sep).join('/'),
  );
  const isTest = (path) => /\.test\.tsx?$/.test(path);
  const placeOf = (path) => posix.join(dirname(path), posix.basename(path).split('.')[0]);
  const tested = new Set(paths.filter((path) => !isTest(path)).map(placeOf));
  return paths
    .filter(isTest)
    .sort()
    .flatMap((path) => {
      const [name, ...more] = posix.basename(path).split('.');
      const isOfFolder = name === posix.basename(dirname(path));
      if (isOfFolder || tested.has(placeOf(path)) || more.includes('scenario')) return [];
      return [
        `${path} is named after no source or folder beside it; if none fits: ${name}.scenario`,
      ];
    });
}

/**
 * Answers one sentence for each name that a file under `folder` exports and no other file under `users` has: what a file
 * keeps to itself, a reader need not look for elsewhere.
 */
export function findUnusedExports(folder, users) {
  const counts = new Map();
  for (const user of users) {
    for (const file of sourcesIn(user, /(?<!\.d)\.([mt]s|tsx|mjs|mts)$/)) {
      const words = readFileSync(join(user, file), 'utf8').match(/[\p{L}_$][\p{L}\d_$]*/gu);
      for (const word of new Set(words)) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  const exported = /^export (?:async )?(?:const|function\*?|type|class) ([\w$]+)/gm;
  return sourcesIn(folder).flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(exported)].flatMap(([, name]) =>
      counts.get(name) > 1 ? [] : [`${file} exports ${name}, which no other file has`],
    ),
  );
}

function faultsOf(rules, file, text) {
  const rule = rules.find(({ files }) => files.test(file));
  if (rule === undefined) return [`${file} is in no row of the import rules`];
  const fits = (patterns, path) => patterns.some((pattern) => pattern.test(path));
  return importsOf(text).flatMap(({ specifier, line, isDynamic, isType }) => {
    const at = `${file}:${line}`;
    if (specifier === undefined) return [`${at} imports what cannot be checked: name it in quotes`];
    if (!specifier.startsWith('.')) {
      const isAllowed = rule.packages?.includes(specifier) ?? true;
      return isAllowed ? [] : [`${at} may not import the package ${specifier}`];
    }
    const path = posix.join(dirname(file), specifier);
    if (fits(rule.may, path)) return [];
    if (fits(rule.types ?? [], path)) {
      return isType ? [] : [`${at} may import ${path} only by import type`];
    }
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
      const isType = /^\s*(import|export)\s+type\b/.test(match[0]);
      return { specifier: match[1], line, isDynamic, isType };
    });
  return [...matches(staticImport, false), ...matches(dynamicImport, true)];
}

if (isMain(import.meta.url)) {
  const checked = { server: serverRules, console: consoleRules, receive: receiveRules };
  const users = [
    'packages/server/src',
    'packages/server/test',
    'packages/server/demo',
    'packages/console/src',
  ];
  const all = [...users, 'e2e', 'bench', 'sim', 'scripts'].map((name) => join(root, name));
  for (const [name, rules] of Object.entries(checked)) {
    const source = join(root, 'packages', name, 'src');
    for (const fault of [
      ...findForbiddenImports(source, rules),
      ...findFolderCycles(source),
      ...findUnnamedTests(source),
      // What the package for receivers exports is for those who install it.
      ...(name === 'receive' ? [] : findUnusedExports(source, all)),
    ]) {
      process.stdout.write(`${relative(root, source)}/${fault}\n`);
      process.exitCode = 1;
    }
  }
}
