import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect } from 'vitest';
import { type Colleague, testClient, visit } from './identity-server.mjs';
import { freePorts, isProgram } from './real-s3.mjs';

/** The identity server Dex, where it is on the PATH or `SVC_TEST_DEX` is its path; otherwise null. */
export function findDex({ SVC_TEST_DEX, PATH = '' } = process.env): string | null {
  const places = PATH.split(delimiter).map((dir) => join(dir, 'dex'));
  return [...(SVC_TEST_DEX ? [SVC_TEST_DEX] : []), ...places].find(isProgram) ?? null;
}

export type Dex = {
  readonly issuer: string;
  /** Starts it anew, with other keys, and with what the directory says of colleagues by now. */
  restart(): Promise<void>;
  /** Goes where the service sends the browser, gives a name and the password, and returns with which query it comes back. */
  visit(url: string, jar: Map<string, string>, who: string): Promise<string>;
  stop(): Promise<void>;
};

/** Starts a Dex of its own. With `hasSessions` it remembers who has signed in, and when. */
export async function startDex(
  program: string,
  publicUrl: string,
  {
    colleagues,
    hasSessions,
  }: { colleagues: Readonly<Record<string, Colleague>>; hasSessions: boolean },
): Promise<Dex> {
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-dex-'));
  const issuer = `http://127.0.0.1:${(await freePorts(1))[0]}`;
  let child: ChildProcess | undefined;
  const end = async () => {
    if (child === undefined || child.exitCode !== null) return;
    child.kill();
    await once(child, 'exit');
  };
  const start = async () => {
    const config = configurationOf({ issuer, publicUrl, colleagues, hasSessions });
    const path = join(dir, 'dex.json');
    await writeFile(path, JSON.stringify(config));
    child = spawn(program, ['serve', path], {
      env: { ...process.env, DEX_SESSIONS_ENABLED: String(hasSessions) },
      stdio: 'ignore',
    });
    const isUp = () => fetch(`${issuer}/healthz`).then(({ status }) => status, String);
    await expect.poll(isUp).toBe(200);
  };
  await start();
  return {
    issuer,
    async restart() {
      await end();
      await start();
    },
    visit: (url, jar, who) =>
      visit(url, jar, publicUrl, () => ({
        login: colleagues[who]?.email ?? '',
        password: 'password',
      })),
    async stop() {
      await end();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function configurationOf({
  issuer,
  publicUrl,
  colleagues,
  hasSessions,
}: {
  issuer: string;
  publicUrl: string;
  colleagues: Readonly<Record<string, Colleague>>;
  hasSessions: boolean;
}) {
  return {
    issuer,
    storage: { type: 'memory' },
    web: { http: new URL(issuer).host },
    oauth2: { skipApprovalScreen: true },
    ...(hasSessions && { sessions: { absoluteLifetime: '1h', validIfNotUsedFor: '1h' } }),
    staticClients: [
      {
        id: testClient.id,
        secret: testClient.secret,
        name: 'svcctl',
        redirectURIs: [`${publicUrl}/sign-in/callback`],
        postLogoutRedirectURIs: [`${publicUrl}/`],
      },
    ],
    enablePasswordDB: true,
    staticPasswords: Object.entries(colleagues).map(([id, { name, email, groups }]) => ({
      userID: id,
      username: id,
      name,
      email,
      groups,
      hash: hashOfPassword,
    })),
  };
}

/** That of the word `password`, by bcrypt. */
const hashOfPassword = '$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W';
