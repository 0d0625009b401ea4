import type { FunctionComponent } from 'react';
import type { Scope } from '../api/values.ts';
import {
  AccessIcon,
  DeadLetterIcon,
  DeliveriesIcon,
  EndpointsIcon,
  ExportsIcon,
  IncidentsIcon,
  JobsIcon,
  OverviewIcon,
  RecordsIcon,
  RetentionIcon,
} from '../ui/icons.tsx';
import type { PagePath } from '../ui/use-search.ts';

/** One page of the console, as the navigation, the palette and the keys know it. */
export type ConsolePage = {
  readonly path: '/' | PagePath;
  /** The name in the navigation and the header. */
  readonly name: string;
  /** What one does on this page, for the palette. */
  readonly purpose: string;
  /** The key that opens the page when it is pressed after `g`. */
  readonly key: string;
  /** The scope without which the page shows nothing; null: it shows what the token may see. */
  readonly scope: Scope | null;
  /** Another scope with which it shows a part. */
  readonly orScope?: Scope;
  readonly Icon: FunctionComponent;
};

/** Pages that stand together in the navigation. */
export type PageGroup = {
  /** Null for what needs no heading. */
  readonly name: string | null;
  readonly pages: readonly ConsolePage[];
};

/** The navigation, from its top. */
export const pageGroups: readonly PageGroup[] = [
  {
    name: null,
    pages: [
      {
        path: '/',
        name: 'OVERVIEW',
        purpose: 'See whether all is well, and how it went lately',
        key: 'o',
        scope: null,
        Icon: OverviewIcon,
      },
      {
        path: '/jobs',
        name: 'JOBS',
        purpose: 'See what runs now and what ended badly, and who asked for it',
        key: 'j',
        scope: null,
        Icon: JobsIcon,
      },
    ],
  },
  {
    name: 'DATA & ADMIN',
    pages: [
      {
        path: '/records',
        name: 'RECORDS',
        purpose: 'Browse, read and export enrichment records',
        key: 'r',
        scope: 'enrichment:read',
        Icon: RecordsIcon,
      },
      {
        path: '/exports',
        name: 'EXPORTS',
        purpose: 'Follow export jobs, and download their files with the proof that they are whole',
        key: 'x',
        scope: 'analytics:read',
        Icon: ExportsIcon,
      },
      {
        path: '/retention',
        name: 'RETENTION',
        purpose: 'Move old records to the cold tier, and prove that none was lost',
        key: 't',
        scope: 'enrichment:read',
        Icon: RetentionIcon,
      },
      {
        path: '/dlq',
        name: 'WEBHOOK DLQ',
        purpose: 'Retry webhooks that could not be delivered',
        key: 'd',
        scope: 'admin',
        Icon: DeadLetterIcon,
      },
      {
        path: '/incidents',
        name: 'INCIDENTS',
        purpose: 'See what was reported, and whether it was delivered',
        key: 'i',
        scope: 'incidents:read',
        Icon: IncidentsIcon,
      },
    ],
  },
  {
    name: 'WEBHOOKS',
    pages: [
      {
        path: '/deliveries',
        name: 'DELIVERIES',
        purpose: 'Follow webhooks in every state',
        key: 'l',
        scope: 'webhooks:read',
        Icon: DeliveriesIcon,
      },
      {
        path: '/endpoints',
        name: 'ENDPOINTS',
        purpose: 'Where webhooks of a tenant go',
        key: 'e',
        scope: 'webhooks:read',
        Icon: EndpointsIcon,
      },
    ],
  },
  {
    name: 'ADMIN',
    pages: [
      {
        path: '/access',
        name: 'ACCESS',
        purpose: 'Let people in and out, and see who did what',
        key: 'a',
        scope: 'audit:read',
        // Who asks for what another must confirm withdraws it there.
        orScope: 'retention:manage',
        Icon: AccessIcon,
      },
    ],
  },
];

/** All pages, in the order of the navigation. */
export const pages: readonly ConsolePage[] = pageGroups.flatMap((group) => group.pages);
