import { lazyPart } from '../ui/lazy-part.tsx';
import type { PagePanel } from '../ui/use-search.ts';
import type { recordsPanels } from './search.ts';

// No panel is part of the first load.

export const RecordDrawer = lazyPart('RecordDrawer', () => import('./record-drawer.tsx'));
export const FieldDrawer = lazyPart('FieldDrawer', () => import('./facts/field-drawer.tsx'));
export const ExportPanel = lazyPart('ExportPanel', () => import('./export/export-panel.tsx'));
export const VersionDrawer = lazyPart(
  'VersionDrawer',
  () => import('./versions/version-drawer.tsx'),
);
export const TagPanel = lazyPart('TagPanel', () => import('./tags/tag-panel.tsx'));
export const FreezePanel = lazyPart('FreezePanel', () => import('./versions/freeze-panel.tsx'));
export const ErasePanel = lazyPart('ErasePanel', () => import('./erase/erase-panel.tsx'));

/** All of them, the likeliest first. */
export const panelParts = [
  RecordDrawer,
  FieldDrawer,
  ExportPanel,
  TagPanel,
  VersionDrawer,
  FreezePanel,
  ErasePanel,
];

/** The panel of the page RECORDS. */
export type RecordsPanel = PagePanel<(typeof recordsPanels)[number]>;
