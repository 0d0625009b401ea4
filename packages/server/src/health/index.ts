export { type About, createPresence, type Presence } from './presence.ts';
export type { Answering } from './read-status.ts';
export { addHealthRoutes } from './routes.ts';
