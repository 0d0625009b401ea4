import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const flags = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];

/**
 * The Chromium of @sparticuz/chromium, or else the installed one. Without the package's own flags: they
 * switch off the same-origin policy, which belongs to what is tested. Plain JavaScript, because the
 * benches launch it too.
 */
export async function launchChromium() {
  const installed = '/usr/bin/chromium';
  const dir = await unpackChromium().catch((cause) => {
    if (existsSync(installed)) return undefined;
    throw cause;
  });
  if (dir === undefined) return chromium.launch({ executablePath: installed, args: flags });
  const launch = () =>
    chromium.launch({
      executablePath: join(dir, 'chromium'),
      args: [...flags, '--headless=shell'],
      env: {
        ...process.env,
        LD_LIBRARY_PATH: join(dir, 'al2023', 'lib'),
        FONTCONFIG_FILE: join(dir, 'fonts.conf'),
      },
    });
  // It has died while it started (SIGSEGV), once in some hundred times: that says nothing about a page.
  return launch().catch(launch);
}

/**
 * The fonts of the package and no other: a machine may have none, which the browser does not survive, and
 * pages look the same on all. The package's own file of this kind names folders that are not there.
 */
const fontsConf = (dir) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${dir}/fonts</dir><cachedir>${dir}/fonts-cache</cachedir></fontconfig>
`;

/**
 * Unpacks the package's browser, and the libraries and fonts it brings along, into a folder that is whole or not
 * there: several test files start at once, and a machine may lack the libraries.
 */
async function unpackChromium() {
  const dir = join(tmpdir(), `svcctl-chromium-${process.getuid?.() ?? 0}-147-fonts`);
  if (existsSync(dir)) return dir;
  const draft = await mkdtemp(`${dir}-`);
  const before = process.env.TMPDIR;
  // The package unpacks into the folder for temporary files; the libraries only on a machine of this kind.
  process.env.TMPDIR = draft;
  process.env.AWS_LAMBDA_JS_RUNTIME = 'nodejs20.x';
  try {
    const { default: packaged } = await import('@sparticuz/chromium');
    await packaged.executablePath();
    await writeFile(join(draft, 'fonts.conf'), fontsConf(dir));
    await rename(draft, dir).catch(() => rm(draft, { recursive: true }));
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
  return dir;
}
