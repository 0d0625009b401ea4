import { timeFilters } from '../kernel/view.ts';

export const auditFilters = {
  actor: { value: 'id', help: 'only by the token of this id', label: 'Who', isUsual: true },
  action: { help: 'only this action, or all that begin so: token.', label: 'What', isUsual: true },
  tenant: { help: 'only about this tenant' },
  text: {
    param: 'q',
    isUsual: true,
    help: 'only with this text in the actor, the target or a detail, in any case',
    title: 'Who, what or a detail',
    label: 'Text in who, what or a detail',
  },
  ...timeFilters(
    'from this day or time on, as 2026-03-05 or 2026-03-05T14:00:00Z (UTC), or a span ago as 2h',
  ),
} as const;
