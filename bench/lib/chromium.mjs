import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const flags = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];

/**
 * Launches the Chromium of @sparticuz/chromium, or else the installed one. It does not use the package's own flags,
 * which switch off the same-origin policy: that policy belongs to what is tested. It is plain JavaScript, because benches,
 * tests and `npm run shots` share it.
 */
export async function launchChromium(more = []) {
  const installed = '/usr/bin/chromium';
  const dir = await unpackChromium().catch((cause) => {
    if (existsSync(installed)) return undefined;
    throw cause;
  });
  if (dir === undefined)
    return chromium.launch({ executablePath: installed, args: [...flags, ...more] });
  const launch = () =>
    chromium.launch({
      executablePath: join(dir, 'chromium'),
      args: [...flags, ...more, '--headless=shell'],
      env: {
        ...process.env,
        LD_LIBRARY_PATH: join(dir, 'al2023', 'lib'),
        FONTCONFIG_FILE: join(dir, 'fonts.conf'),
      },
    });
  // About once in a hundred times the browser crashes while it starts (SIGSEGV). That says nothing about a page, so it
  // is started once more.
  return launch().catch(launch);
}

/**
 * Makes the browser use the package's fonts and no others. A machine may have none, and then the browser crashes; and
 * pages look the same on all machines. The package's own configuration names folders that do not exist.
 */
const fontsConf = (dir) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${dir}/fonts</dir><cachedir>${dir}/fonts-cache</cachedir></fontconfig>
`;

/**
 * Unpacks the package's browser and the libraries and fonts that come with it. The folder appears only when it is
 * complete, because several test files start at once. The libraries are needed where the machine lacks them.
 */
async function unpackChromium() {
  const dir = join(tmpdir(), `svcctl-chromium-${process.getuid?.() ?? 0}-147-fonts`);
  if (existsSync(dir)) return dir;
  const draft = await mkdtemp(`${dir}-`);
  const before = process.env.TMPDIR;
  // The package unpacks into the folder for temporary files, and unpacks its libraries only on machines of the kind
  // that it was made for.
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
