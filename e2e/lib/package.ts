import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runNpm } from '../../scripts/setup.mjs';

/** The packed program, installed in an empty folder outside of this repository. */
export type Package = {
  /** The names of all files of the package. */
  readonly files: readonly string[];
  /** Where it is installed. */
  readonly folder: string;
  /** The words that start it. */
  readonly command: readonly string[];
  /** Whether its dependencies are those of this repository, because no registry answers. */
  readonly isLinked: boolean;
  remove(): Promise<void>;
};

const root = fileURLToPath(new URL('../..', import.meta.url));
const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--prefer-offline'];
const unreachable = /E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|HOSTUNREACH)/;

/**
 * Packs the server where nothing lies but what the image copies, and installs the package as `npm install --global
 * --ignore-scripts` does: what it depends on lies below it, and nowhere above.
 */
export async function installPackage(): Promise<Package> {
  const folder = await mkdtemp(join(tmpdir(), 'svcctl-package-'));
  await chmod(folder, 0o755);
  const build = join(folder, 'build');
  await copyForImage(build);
  const archive = await pack(folder, { from: build });
  const options = [...quiet, '--global', '--ignore-scripts', '--prefix', folder];
  const installed = await runNpm(['install', ...options, archive]);
  const isLinked = installed.code !== 0 && unreachable.test(installed.output);
  const home = join(folder, 'lib', 'node_modules', 'svcctl');
  if (isLinked) await link(home, archive);
  else if (installed.code !== 0) throw new Error(`npm install failed:\n${installed.output}`);
  const { stdout } = await promisify(execFile)('tar', ['--list', '--file', archive]);
  return {
    files: stdout.trim().split('\n'),
    folder: home,
    command: [process.execPath, join(home, 'bin', 'svcctl.cjs')],
    isLinked,
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** Copies what the build stage of deploy/Dockerfile copies, beside what npm has installed here. */
async function copyForImage(build: string): Promise<void> {
  const dockerfile = await readFile(join(root, 'deploy', 'Dockerfile'), 'utf8');
  for (const [, words = ''] of dockerfile.matchAll(/^COPY (?!--)(.+)$/gm)) {
    const names = words.split(' ');
    const target = join(build, names.pop() ?? '');
    for (const name of names) {
      const from = join(root, name);
      const to = (await stat(from)).isDirectory() ? target : join(target, basename(name));
      // As .dockerignore says.
      const filter = (path: string) => !['node_modules', 'dist'].includes(basename(path));
      await cp(from, to, { recursive: true, filter });
    }
  }
  for (const name of ['node_modules', 'packages/console/node_modules']) {
    await symlink(join(root, name), join(build, name));
  }
}

/** Packs a workspace; returns the path of the archive. */
export async function pack(
  folder: string,
  { workspace = 'packages/server', from = root }: { workspace?: string; from?: string } = {},
): Promise<string> {
  const args = ['pack', '--prefix', from, '--workspace', workspace, '--pack-destination', folder];
  const { code, output } = await runNpm(args);
  if (code !== 0) throw new Error(`npm pack failed:\n${output}`);
  const { name, version } = await readManifest(join(root, workspace));
  return join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
}

/** The package for receivers in an empty folder, as npm installs it, and beside it what its users have. */
export async function installReceive(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'svcctl-receive-'));
  const archive = await pack(folder, { workspace: 'packages/receive' });
  const { code, output } = await runNpm([
    ...['install', ...quiet, '--offline', '--ignore-scripts', '--prefix', folder, archive],
  ]);
  if (code !== 0) throw new Error(`npm install failed:\n${output}`);
  for (const name of ['express', 'fastify', 'pg', '@types']) {
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  return { folder, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) };
}

async function link(home: string, archive: string): Promise<void> {
  await mkdir(home, { recursive: true });
  const args = ['--extract', '--strip-components=1', '--directory', home, '--file', archive];
  await promisify(execFile)('tar', args);
  for (const name of Object.keys((await readManifest(home)).dependencies)) {
    const place = join(home, 'node_modules', name);
    await mkdir(dirname(place), { recursive: true });
    await symlink(join(root, 'node_modules', name), place);
  }
}

export async function readManifest(
  folder: string,
): Promise<{ name: string; version: string; dependencies: Record<string, string> }> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
}
