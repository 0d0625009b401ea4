import type { Command } from 'commander';
import { AppError } from '../../kernel/errors.ts';
import type { Context } from '../context.ts';
import { withExamples } from '../help.ts';

type Options = { url?: string; profile?: string };

const defaultUrl = 'http://127.0.0.1:8080';

export function addLogin(program: Command, context: Context): void {
  const command = program
    .command('login')
    .summary('store an access token for later commands')
    .description(
      'Stores an access token as a profile in ~/.config/svcctl/config.json, readable by you only. The token is\nasked for, or read from stdin; it is checked before it is stored.',
    )
    .option(
      '--url <url>',
      `origin of the service (default: that of SVC_URL, of this folder, or ${defaultUrl})`,
    )
    .option('--profile <name>', 'name to store it under (default: "default")')
    .action((options: Options) => login(context, options));
  withExamples(command, [
    'svcctl login --url https://svcctl.example.org',
    'svcctl login --profile ops --url https://svcctl.example.org < token.txt',
  ]);
}

async function login(context: Context, options: Options): Promise<void> {
  const { io } = context;
  const [
    { findLocalService, parseServiceUrl },
    { createClient },
    profiles,
    prompt,
    { isAccessToken },
  ] = await Promise.all([
    import('../connection.ts'),
    import('../client.ts'),
    import('../profiles.ts'),
    import('../prompt.ts'),
    import('../../kernel/ids.ts'),
  ]);
  const name = options.profile ?? context.profile() ?? 'default';
  const file = await profiles.readProfiles(io.env);
  const given = options.url ?? (io.env.SVC_URL || undefined) ?? file.profiles[name]?.url;
  const url = parseServiceUrl(given ?? (await findLocalService(io))?.url ?? defaultUrl, '--url');

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
  const client = createClient(io, { url, token, source: 'profile', profile: name, place: '--url' });
  const me = await client.json('GET /me', {});
  file.profiles[name] = { url, token };
  // The first one, and the one that is called so, is used when none is named.
  if (file.default === null || name === 'default') file.default = name;
  await profiles.writeProfiles(io.env, file);
  context.note(`Signed in to ${url} as "${me.name}" with ${me.scopes.join(', ')}.`);
  const use = file.default === name ? 'svcctl records ls' : `svcctl --profile ${name} records ls`;
  context.hint(`Profile ${name} in ${profiles.profilePath(io.env)} · use it: ${use}`);
}
