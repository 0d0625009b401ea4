import { AppError } from '../../kernel/errors.ts';
import { columnsOf } from '../columns.ts';
import type { Context } from '../context.ts';
import { formatRelative } from '../format.ts';
import { picker } from '../output.ts';
import { createTable } from '../table.ts';
import { command, jsonOption } from '../verb.ts';

const defaultUrl = 'http://127.0.0.1:8080';

export const login = command({
  description:
    'Stores an access token as a profile in ~/.config/svcctl/config.json, readable by you only. The token is asked for, or read from stdin; it is checked before it is stored.',
  examples: [
    'svcctl login --url https://svcctl.example.org',
    'svcctl login --profile ops --url https://svcctl.example.org < token.txt',
  ],
  options: [
    [
      '--url <url>',
      `origin of the service (default: that of SVC_URL, of this folder, or ${defaultUrl})`,
    ],
    ['--profile <name>', 'name to store it under (default: "default")'],
  ],
  async act(context, options) {
    const { io } = context;
    const [connection, { createClient }, prompt, { isAccessToken }] = await Promise.all([
      import('../connection.ts'),
      import('../client.ts'),
      import('../confirm.ts'),
      import('../../kernel/ids.ts'),
    ]);
    const { findLocalService, parseServiceUrl } = connection;
    const name = options.profile ?? context.profile() ?? 'default';
    const file = await connection.readProfiles(io.env);
    const local = (await findLocalService(io))?.url;
    // As for every command, a folder that is given for the call goes before what is stored.
    const folders = io.env.SVC_DATA_DIR
      ? [local, file.profiles[name]?.url]
      : [file.profiles[name]?.url, local];
    const given = [options.url, io.env.SVC_URL || undefined, ...folders].find(
      (one) => one !== undefined,
    );
    const url = parseServiceUrl(given ?? defaultUrl, '--url');

    const token =
      io.stdin.isTTY === true
        ? await prompt.askSecret(context, `Access token for ${url}: `)
        : await prompt.readFirstLine(context);
    if (!isAccessToken(token)) {
      throw new AppError('token_malformed', {
        detail:
          'This is not an access token: svc_ and 46 letters and digits. Copy it again, as a whole.',
      });
    }
    const client = createClient(io, {
      url,
      token,
      source: 'profile',
      profile: name,
      place: '--url',
    });
    const me = await client.json('GET /me', {});
    file.profiles[name] = { url, token };
    // The first profile becomes the default, and so does one that is called `default`.
    if (file.default === null || name === 'default') file.default = name;
    await connection.writeProfiles(io.env, file);
    context.note(`Signed in to ${url} as "${me.name}" with ${me.scopes.join(', ')}.`);
    const use = file.default === name ? 'svcctl records ls' : `svcctl --profile ${name} records ls`;
    context.hint(`Profile ${name} in ${connection.profilePath(io.env)} · use it: ${use}`);
  },
});

export const logout = command({
  description: 'Removes a profile. The token itself stays valid until it is revoked.',
  examples: ['svcctl logout', 'svcctl logout --profile ops'],
  options: [['--profile <name>', 'the profile (default: the one in use)']],
  act: forget,
});

/** Forgets a profile; without a name the one in use. */
export async function forget(context: Context, options: { profile?: string }): Promise<void> {
  const { io } = context;
  const { readProfiles, unknownProfile, writeProfiles } = await import('../connection.ts');
  const file = await readProfiles(io.env);
  const name =
    options.profile ??
    context.profile() ??
    (io.env.SVC_PROFILE || undefined) ??
    file.default ??
    'default';
  if (!Object.hasOwn(file.profiles, name)) throw unknownProfile(name, Object.keys(file.profiles));
  delete file.profiles[name];
  const rest = Object.keys(file.profiles);
  if (file.default === name) file.default = rest.length === 1 ? (rest[0] ?? null) : null;
  await writeProfiles(io.env, file);
  context.note(
    `Forgot the profile ${name}. Its token is still valid; to end it: svcctl tokens revoke ID`,
  );
}

const fields = [
  'name',
  'scopes',
  'tenants',
  'stores',
  'expires_at',
  'url',
  'source',
  'profile',
] as const;

export const whoami = command({
  description: 'Says who the token in use is, where it was found, and which service it goes to.',
  examples: ['svcctl whoami', 'svcctl --profile ops whoami --json name,scopes'],
  options: [jsonOption],
  answers: fields,
  async act(context, { json }) {
    const pick = picker(json);
    const client = await context.connect();
    const me = await client.json('GET /me', {});
    const { url, source, profile } = client.connection;
    const answer = { ...me, url, source, profile };
    if (json !== undefined) {
      await context.out.write(`${pick(JSON.stringify(answer))}\n`);
      return;
    }
    const { word } = columnsOf<typeof answer>();
    const columns = [
      word('NAME', 'name'),
      word('SCOPES', (row) => row.scopes.join(',')),
      word('TENANTS', (row) => (row.stores ?? row.tenants)?.join(',') ?? 'all'),
      word('EXPIRES', 'expires_at', {
        shown: ({ expires_at: at }, now) => (at === null ? 'never' : formatRelative(at, now)),
      }),
      word('SERVICE', 'url'),
      word('FROM', () => client.connection.place),
    ];
    await createTable(context, columns).write([answer]);
  },
});
