import { replayIds, replaySelections } from '../../webhooks/values.ts';
import { wholeNumber } from '../help.ts';
import { type Verb, yesOption } from '../verb.ts';
import type { ReplayOptions } from '../webhooks/replay.ts';

export const replayVerb: Verb = {
  summary: 'send an endpoint what it missed, or again what it got',
  description:
    'Sends an endpoint what was reported in a range of time: what it never got (the default), its dead letters, what was delivered, or all of it, in the order of the reports. It is a job of the service: first it shows what it would do and asks, then it shows the progress; Ctrl-C leaves the job at work. New reports go first.',
  argument: ['<id>', 'the endpoint’s id, as svcctl endpoints ls prints it'],
  examples: [
    'svcctl endpoints replay ep_4fTq9Zx7Kq2LmN0p --since 2h --dry-run',
    'svcctl endpoints replay ep_4fTq9Zx7Kq2LmN0p --since 2026-03-05 --until 2026-03-07 --only all --rate 200',
    'svcctl endpoints replay ep_4fTq9Zx7Kq2LmN0p --incident inc_4fTq9Zx7Kq2LmN0p --only all',
  ],
  options: [
    ['--since <time>', 'what was reported from then on: a time, a day, or a span ago such as 2h'],
    ['--until <time>', 'what was reported before then (default: now)'],
    ['--incident <id>', 'one incident instead of a range'],
    ['--event <type...>', 'only these types of events; incident.* = all that begin so'],
    ['--only <what>', 'which of these (default: missed)', replaySelections],
    [
      '--ids <which>',
      'what was delivered comes under a new webhook-id (the default), or the same, which receivers that drop repeats drop',
      replayIds,
    ],
    [
      '--ignore-filters',
      'also what the endpoint does not want now, by its types, stores and filter',
    ],
    ['--rate <rows>', 'deliveries queued a second, at most', wholeNumber(1)],
    ['--dry-run', 'only show what would be sent'],
    yesOption,
    ['--no-wait', 'print the job’s id and leave it at work'],
    ['--json', 'print the preview, or the job, as JSON'],
  ],
  async act(context, options: ReplayOptions, id: string) {
    const { replay } = await import('../webhooks/replay.ts');
    await replay(context, options, id);
  },
};
