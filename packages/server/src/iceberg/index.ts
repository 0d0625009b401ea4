export { addIcebergRoutes } from './routes.ts';
export { sweepSnapshots } from './sweep.ts';
