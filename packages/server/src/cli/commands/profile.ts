import { columnsOf } from '../columns.ts';
import { findConnection, readProfiles, unknownProfile, writeProfiles } from '../connection.ts';
import { factLines, printDetails, whereAny } from '../details.ts';
import { printRows } from '../output.ts';
import { formatOptions, jsonOption, type Verbs, verb } from '../verb.ts';
import { forget } from './session.ts';

const fields = ['name', 'url', 'is_default'] as const;
type ProfileRow = { name: string; url: string; is_default: boolean };
const { word, text } = columnsOf<ProfileRow>();

const ls = verb({
  summary: 'list the services that you have signed in to',
  description:
    'Lists the profiles that svcctl login has stored. Tokens are not printed, and no service is asked.',
  examples: ['svcctl profile ls', 'svcctl profile ls -o name'],
  options: [jsonOption, ...formatOptions],
  answers: fields,
  async act(context, { json, output, header }) {
    const file = await readProfiles(context.io.env);
    const rows = Object.entries(file.profiles).map(([name, { url }]) => {
      return { name, url, is_default: name === file.default };
    });
    const columns = [
      word('NAME', 'name'),
      word('DEFAULT', ({ is_default: isDefault }) => (isDefault ? 'yes' : null)),
      text('URL', 'url'),
    ];
    const hasHeader = header !== false;
    await printRows(context, rows, { columns, json, hasHeader, format: output });
    if (rows.length === 0) context.hint('You have signed in nowhere yet: svcctl login --url URL');
  },
});

const use = verb({
  summary: 'have commands go to the service of a profile',
  description: 'Makes a profile the default: commands go to its service unless told otherwise.',
  argument: ['<name>', 'the profile'],
  examples: ['svcctl profile use production'],
  async act(context, _options, name) {
    const file = await readProfiles(context.io.env);
    const profile = Object.hasOwn(file.profiles, name) ? file.profiles[name] : undefined;
    if (profile === undefined) throw unknownProfile(name, Object.keys(file.profiles));
    await writeProfiles(context.io.env, { ...file, default: name });
    context.note(`Commands go to ${profile.url} now, as the profile ${name}.`);
  },
});

const showFields = ['url', 'place', 'source', 'profile', 'passed_by'] as const;

const show = verb({
  summary: 'say which service commands go to from here, and why',
  description:
    'Says which service a command would call from this folder with these variables and this --profile, or with the profile that is named, and what led to it. No service is asked: svcctl whoami does that.',
  argument: ['[name]', 'a profile (default: what a command would use)'],
  examples: ['svcctl profile show', 'svcctl profile show production --json url'],
  options: [jsonOption],
  answers: showFields,
  async act(context, { json }, name) {
    const found = await findConnection(context.io, name ?? context.profile());
    const { url, place, source, profile, passedBy = null } = found;
    const lines = () =>
      factLines(context, [
        ['service', url],
        ['found by', place],
        ...whereAny('not used', passedBy && `the service of ./data at ${passedBy}`),
      ]);
    const told = JSON.stringify({ url, place, source, profile, passed_by: passedBy });
    await printDetails(context, told, { json, lines });
  },
});

const rm = verb({
  summary: 'forget a profile and its token',
  description:
    'Removes a profile, as svcctl logout does. The token stays valid until it is revoked.',
  argument: ['<name>', 'the profile'],
  examples: ['svcctl profile rm staging'],
  act: (context, _options, name) => forget(context, { profile: name }),
});

export const profile: Verbs = { ls, use, show, rm };
