export { exportFigures } from './figures.ts';
export type { WorkContext } from './jobs/context.ts';
export { startExportJobs } from './jobs/hold-jobs.ts';
export { listExportsAsJobs, listOpenExports } from './jobs/list.ts';
export { listEndedExports } from './jobs/queries.ts';
export {
  listGoneDeliveries,
  listGoneDownloads,
  noteGoneExports,
  startSweeps,
} from './jobs/sweep.ts';
export { addExportRoutes } from './routes.ts';
export { startSchedules } from './schedules/begin-runs.ts';
export {
  findTarget,
  listSealedSchedules,
  listTroubledSchedules,
  replaceSealedSchedule,
} from './schedules/queries.ts';
export type { ReportRun } from './schedules/report-runs.ts';
export { addScheduleRoutes } from './schedules/schedules.ts';
export { openTarget, parseTarget } from './schedules/target.ts';
export { createSchemaFinder } from './typed/find-schema.ts';
