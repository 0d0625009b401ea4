import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isMain, root, run } from './program.mjs';

const oldestNode = [20, 19];
const lockfile = join(root, 'package-lock.json');
const stampFile = join(root, 'node_modules', '.svcctl-installed');
/** Settings of the npm that started us which would make another install than the one meant here. */
const bendingSettings =
  /^npm_config_(global|location|prefix|omit|include|only|also|dev|production|optional|workspaces?|include_workspace_root|install_links|install_strategy|global_style|legacy_bundling|dry_run|package_lock|package_lock_only|shrinkwrap|before|min_release_age|cpu|os|libc|legacy_peer_deps|strict_peer_deps|force|json)$/i;

/**
 * Makes node_modules what package-lock.json says, unless it is already. Throws an Error that says
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
 * Whether npm's own note of what lies in node_modules covers the lockfile, so that a folder that
 * `npm install` filled is not thrown away and filled again.
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

/** An optional package may be missing, except the build made for this very machine. */
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
  // A lockfile written against a registry that lacked some builds for other platforms has holes: `ci`
  // refuses those (npm 11: EUSAGE), `install` fills them. Both keep to every version the file names.
  if (result.code !== 0 && result.output.includes('EUSAGE')) {
    result = await runNpm(['install', '--no-save', ...options]);
  }
  if (result.code === 0) return;
  process.stderr.write(result.output);
  throw new Error(
    `npm failed (${result.code}); what it said stands above. Once that is mended, try again.`,
  );
}

/** Runs npm with these arguments, free of the settings that whoever started us has made. */
export async function runNpm(args) {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !bendingSettings.test(name)),
  );
  // The npm that started us, if one did: there may be no other in PATH.
  const { npm_execpath: startedBy } = process.env;
  const isNpm = startedBy !== undefined && basename(startedBy) === 'npm-cli.js';
  const [command, ...first] = isNpm ? [process.execPath, startedBy] : ['npm'];
  try {
    return await run(command, [...first, ...args], { env });
  } catch (error) {
    throw new Error(`npm cannot be started: ${error.message}. It comes with Node.`);
  }
}

if (isMain(import.meta.url)) {
  await ensureInstalled().catch((error) => {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  });
}
