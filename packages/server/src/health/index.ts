export { severityOf } from './doctor/check.ts';
export { examine } from './doctor/examine.ts';
export { type About, createPresence, type Presence } from './presence.ts';
export { listFullDisks } from './queries.ts';
export { type Answering, listProcesses, look, type Surroundings } from './read-status.ts';
export { addHealthRoutes } from './routes.ts';
