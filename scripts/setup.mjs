import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isMain, root, run, tellingFaults } from './program.mjs';

const oldestNode = [20, 19];
const lockfile = join(root, 'package-lock.json');
const stampFile = join(root, 'node_modules', '.svcctl-installed');
/**
 * npm hands its settings to the scripts it starts, as variables. These would make our own `npm ci` install something
 * else.
 */
const bendingSettings =
  /^npm_config_(global|location|prefix|omit|include|only|also|dev|production|optional|workspaces?|include_workspace_root|install_links|install_strategy|global_style|legacy_bundling|dry_run|package_lock|package_lock_only|shrinkwrap|before|min_release_age|cpu|os|libc|legacy_peer_deps|strict_peer_deps|force|json)$/i;

/**
 * Makes node_modules equal to what package-lock.json says, unless it is already. Throws an Error whose message says
 * what to do.
 */
export async function ensureInstalled() {
  assertNode(process.versions.node);
  const digest = createHash('sha256').update(readFileSync(lockfile)).digest('hex');
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8').trim() === digest) return;
  if (!hasEverything()) await install();
  writeFileSync(stampFile, `${digest}\n`);
}

/** Throws unless svcctl runs on this version of Node. */
export function assertNode(version) {
  const [major, minor] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = oldestNode;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new Error(
    `svcctl needs Node ${oldestNode.join('.')} or newer; this is Node ${version} (${process.execPath}). Install a newer one from https://nodejs.org and try again.`,
  );
}

/**
 * Whether npm's own note of what lies in node_modules covers the lockfile. If it does, a folder that `npm install`
 * filled is kept, rather than removed and filled again.
 */
function hasEverything() {
  const noted = readPackages(join(root, 'node_modules', '.package-lock.json'));
  const wanted = readPackages(lockfile);
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) return true;
    const { version, integrity, link } = noted[path] ?? {};
    if (noted[path] === undefined) return isOptionalHere(entry);
    return link === entry.link && version === entry.version && integrity === entry.integrity;
  });
}

/** Whether this package may be missing here. An optional package may, unless it is the build for this very machine. */
function isOptionalHere({ optional = false, os, cpu, libc }) {
  if (!optional) return false;
  const isForHere = os?.includes(process.platform) && cpu?.includes(process.arch);
  return !isForHere || libc !== undefined;
}

function readPackages(path) {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')).packages ?? {}) : {};
}

async function install() {
  process.stderr.write('installing dependencies, this takes a minute…\n');
  const options = ['--no-audit', '--no-fund', '--include=dev', '--include=optional'];
  let result = await runNpm(['ci', ...options]);
  // A lockfile lacks the builds for other platforms if it was written against a registry without them. `npm ci` refuses
  // such a lockfile (npm 11: EUSAGE); `npm install` adds what is missing. Both install exactly the versions that the
  // file names.
  if (result.code !== 0 && result.output.includes('EUSAGE')) {
    result = await runNpm(['install', '--no-save', ...options]);
  }
  if (result.code === 0) return;
  process.stderr.write(result.output);
  throw new Error(
    `npm failed (${result.code}); what it said stands above. Once that is mended, try again.`,
  );
}

/** Runs npm with these arguments, without the settings that the npm which started us has put into the environment. */
export async function runNpm(args) {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !bendingSettings.test(name)),
  );
  // Uses the npm that started us, if one did: there may be no other in PATH.
  const { npm_execpath: startedBy } = process.env;
  const isNpm = startedBy !== undefined && basename(startedBy) === 'npm-cli.js';
  const [command, ...first] = isNpm ? [process.execPath, startedBy] : ['npm'];
  try {
    return await run(command, [...first, ...args], { env });
  } catch (error) {
    throw new Error(`npm cannot be started: ${error.message}. It comes with Node.`);
  }
}

if (isMain(import.meta.url)) await tellingFaults(ensureInstalled);
