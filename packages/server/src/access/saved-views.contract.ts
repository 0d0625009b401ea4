import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  fits,
  instantSchema,
  nameSchema,
  onePage,
  optional,
  problem,
} from '../platform/http/schemas.contract.ts';

const savedViewSchema = Type.Object({
  name: Type.String(),
  address: Type.String({ description: 'the hash of the console, as #/dlq?status=abandoned' }),
  shared: Type.Boolean(),
  own: Type.Boolean({ description: 'whether the caller saved it' }),
  owner: Type.Object({ id: Type.String(), name: Type.String() }),
  updated_at: instantSchema,
});
/** A page of the console with its filters, under a name. */
export type SavedView = Static<typeof savedViewSchema>;

const newSavedViewSchema = exactly({
  address: Type.String({
    maxLength: 4000,
    pattern: '^#/[a-z]*([?][^\\s#]*)?$',
    [fits]: 'a page of the console such as #/dlq?status=abandoned',
    description: 'a page and its filters; panels, cursors and what the tree has open are left out',
    examples: ['#/dlq?status=abandoned&tenant=TX'],
  }),
  shared: optional.boolean({ default: false }),
  name: Type.Optional({ ...nameSchema, description: 'another name for the view that is there' }),
});
export type NewSavedView = Static<typeof newSavedViewSchema>;

/** The routes of the views that people save in the console. */
export const savedViewsContract = routesUnder('Saved views', {
  listSavedViews: {
    scope: 'any',
    route: 'GET /views',
    summary: 'List the caller’s saved views, then those that others share',
    description:
      'A token limited to tenants gets shared views only if their address names one of these tenants.',
    responses: onePage(savedViewSchema),
  },
  putSavedView: {
    scope: 'any',
    route: 'PUT /views/:name',
    summary: 'Save a view of the caller, or change or rename it',
    body: newSavedViewSchema,
    responses: { 200: { description: 'Saved.', schema: savedViewSchema }, 409: problem },
  },
  deleteSavedView: {
    scope: 'any',
    route: 'DELETE /views/:name',
    summary: 'Delete a saved view',
    query: exactly({
      owner: optional.string({
        maxLength: 100,
        description: 'whose it is, where an admin without limits deletes a shared one',
      }),
    }),
    responses: { 204: { description: 'Deleted.' } },
  },
});
