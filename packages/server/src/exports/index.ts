export { exportsContract } from './contract.ts';
export { exportFigures } from './figures.ts';
export {
  addJobRoutes,
  answerWithJob,
  type JobRouteOptions,
  type JobRunner,
  listEndedExports,
  listOpenExports,
  noteGoneExports,
  startJobRunner,
  startSweeps,
  type WorkContext,
} from './jobs/index.ts';
export { addExportRoutes } from './routes.ts';
