import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { withExamples } from '../help.ts';

type Options = { profile?: string };

export function addLogout(program: Command, context: Context): void {
  const command = program
    .command('logout')
    .summary('forget a stored access token')
    .description('Removes a profile. The token itself stays valid until it is revoked.')
    .option('--profile <name>', 'the profile (default: the one in use)')
    .action((options: Options) => logout(context, options));
  withExamples(command, ['svcctl logout', 'svcctl logout --profile ops']);
}

async function logout(context: Context, options: Options): Promise<void> {
  const { io } = context;
  const [{ readProfiles, writeProfiles }, { unknownProfile }] = await Promise.all([
    import('../profiles.ts'),
    import('../connection.ts'),
  ]);
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
