import { AppError } from '../../kernel/errors.ts';

/** The first migration: the schema of the first release. */
export const baseline = '0001-baseline.sql';

/** What is known of a migration that was applied, in a database or a backup. */
export type Applied = { readonly name: string; readonly checksum: string };

/**
 * The migrations of builds before the baseline, with the checksums of their files. Together they made what the baseline
 * makes. A database that they have made keeps the rows that say so, because builds that do not know the baseline may
 * still work beside this release, and would otherwise apply them again. What comes later must not have their names.
 */
export const replaced: ReadonlyMap<string, string> = new Map([
  ['0001-access.sql', '7ef135adb528d70d309caec1a412ae4df2385f86fadeea3e029f5d66561d8b37'],
  ['0002-records.sql', 'f6c75abd21199749f7fe8f21affbd91dff159d988178afc9799c75d55186b08a'],
  ['0003-sessions.sql', 'eec94e501de68a4eac597dd6949eecb18f54d1763a67c141f5a6ae449811b0f7'],
  ['0004-webhooks.sql', '4b3af84a2f5f87a142b06a596ed7588971096aecb0dd5a356b207cca45dea737'],
  ['0005-audit.sql', 'db902734cbd988739aac545c3b75426aa438c2fe5b05efc70402b5303729fd55'],
  ['0006-cold-tier.sql', '65a0a4a0873e016423b265539fde7bf4722a8cc06c37e6b17640a12341d41727'],
  ['0007-datasets.sql', '9ebec34c171d02c09378abd4c7e0b69650fe0a4a160f3c0ee098620ff7d8ba52'],
  ['0008-access.sql', 'd99392488af9e9b6cf1655920089ff597c4221b60c0217f4844dbb3812bd6657'],
  ['0009-space.sql', '99c2e6ee8f60ec221f507c15a9a1fffa512a7be9c3f78a03608bb392f02bb996'],
  [
    '0010-waiting-for-endpoints.sql',
    '2583fbdb9156b11c76d544632f8f9d7a07ca3e44902407a4d9bcbf0c5d203528',
  ],
  ['0011-scrub.sql', '3626e16d712a8856c2880b7de730f38db64094272324ce63cee664db8dff2932'],
  ['0012-lanes.sql', '2c6fddf876ad63f6d413a104eee8c96d1b8e531164d18a778c2e3ed2a082b17d'],
  ['0013-store-fence.sql', 'bb904ad93d0a972028cc0b915736f6cfcc3668bf9754f74c72cdce62c30effac'],
  ['0014-ingest.sql', 'b8a775e1e3f72468a53f48f1e244c73aeaa28d8c3cf37b58c5eaba86e495968b'],
  ['0015-hot-days.sql', '462f5ee96747725be2f7289ff1e3837c84a5d53a3707da24d112b49ad167bb88'],
  ['0016-tenant-months.sql', '27a0d1670f76e7ad6fa3b9bf66d6cca531b671b1959c599aa20882c7d75ee508'],
  ['0017-segment-pieces.sql', '3fb8f5fe71698d68efdc85709e06030d0d78ce3be1de8e5d9e6eaa83e49f2a17'],
  ['0018-limits.sql', 'b30ba8cb69ab791c994c890653fbc56222d9924dcac78e79753d5fa70e3bed71'],
  ['0019-counter-space.sql', 'bc1bbd5d374cda1bae114f72b34349489dd63afb9a9bee613fe18752221c913e'],
  ['0020-citus.sql', 'b03e2456a2d10aedfbe94847d8cf03e6336fe71f9772dc6ad597b5c1997273ff'],
  [
    '0021-divided-retention.sql',
    'fb2c21bbb053e095ab40970e2720628b18e8aa1e97d8ca9ff7ac98427f352ab6',
  ],
  ['0022-audit-chain.sql', 'c87d31922f22507bc9264f15e3e7b26fa20c4dec6e0d20ce9a63cd9fb159e468'],
  ['0023-sessions.sql', '9b653d9ddd4d73359b4c0b303421882d4d000c61084b319cb2f70d7bb7e2f643'],
  ['0024-delivery-hours.sql', 'cd88c7b509238ebfcc599c899a9dca79d087c5624e8ceedb7ecf6911eb597cea'],
  ['0025-stored-hours.sql', '3029a4a981156758913ae8edd151d3c71619927866707509935a6151529a53d2'],
  ['0027-failed-incidents.sql', '18ffd51e2a81ea840aad2403c46c53728075ebb133d6a6031c7d184506c1524c'],
  ['0028-backups.sql', '4eaab74e6a028c123d9851fa5103aa8bec787ce21f30a228b413e3f3ce0d732c'],
  [
    '0029-incident-requests.sql',
    '2f3e01bb6dcdbce9d1902fc303e9741a92a34d45f40e5e74325c5c8d428fbdd9',
  ],
  ['0030-processes.sql', '5461ba3834346d935ce5aebf15cd18b5566ae7978969b2b79dcbd843d2fbe848'],
  ['0031-secret-keys.sql', '6e6b85a3e4e3ced35e487d85d441556c67bdb25498bc252a7a9246afeeb5171c'],
  ['0032-notices.sql', '67e5f3cdeb2489d6b3981b66ab54ac7e81ad9f5b435787b380305625854580d7'],
  ['0033-incident-traces.sql', '33973199f085dfda5d726aaff2daab7161336bc70b4a0e4e528a61dac0fd058e'],
  [
    '0034-commands-and-briefings.sql',
    '89e04db1d7058dafccc078fdbf3123316596670adb2338a13ccd28e5c7558822',
  ],
  ['0035-held-endpoints.sql', 'bcd1ef315b5bab62e9970452b4a2cc2a2b5a7e4751d8520f62becc794f26fddf'],
  [
    '0036-throttled-endpoints.sql',
    '02e92c26685d7d055044db8e9c566710297e4332a1b489b3f8b41207aefabc38',
  ],
  [
    '0037-waiting-for-the-store.sql',
    '0cb7281c87b9192f6462a3c200b87bc9eea633cb828ade031fd3d79f8f4b1629',
  ],
  ['0038-erased-incidents.sql', '3bcdce867fd82913e9f6ebf5d387c45200384dea07454bbea9f63b91e1f3eae8'],
  ['0039-fresh-deliveries.sql', '735aa2c417a30cb18027b47cd2c30e1fdce16083be14bfd95ad5c234ac5309df'],
  ['0040-process-schema.sql', '4234f64ff45c353a44703f48b0ed57773ec372ed73613c4bd31b9cb468236ade'],
]);

/** The last of them: a build that knows it can work on a database that they have made. `svcctl version` of it says so. */
export const lastReplaced = '0040-process-schema.sql';

/** The names, with the baseline in the place of what it replaced. */
export function withBaseline(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => (replaced.has(name) ? baseline : name)))];
}

/** The first replaced migration that is missing, or has another text; undefined when none is, or none was applied. */
export function findGap(applied: readonly Applied[]): string | undefined {
  if (!applied.some(({ name }) => replaced.has(name))) return undefined;
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  return [...replaced].find(([name, checksum]) => checksums.get(name) !== checksum)?.[0];
}

/** The build that brings an older database to where this release goes on, and how to know it. */
export const passThrough = `the last build of 0.1.0 before the single baseline, the one whose svcctl version says "schema ${lastReplaced}" (see Upgrade in docs/operations.md)`;

/** Throws `database_older` for a database that has some of the replaced migrations, but not all as they should be. */
export function refuseOlder(applied: readonly Applied[]): void {
  const gap = findGap(applied);
  if (gap === undefined) return;
  throw new AppError('database_older', {
    detail: `The database has migrations from before the single baseline, but not all: ${gap} is missing or had another text. Nothing was changed. First start ${passThrough} on it, then this release.`,
  });
}
