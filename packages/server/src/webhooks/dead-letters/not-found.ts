import { AppError } from '../../kernel/errors.ts';
import { laneOfDelivery } from '../lanes.ts';

/** The lane of a delivery's id. Throws 404 `delivery_not_found` when the text is none. */
export function laneOrNotFound(id: string): number {
  const lane = laneOfDelivery(id);
  if (lane === null) throw deliveryNotFound();
  return lane;
}

export function deliveryNotFound(): AppError {
  return new AppError('delivery_not_found', {
    detail: 'There is no delivery with this id, or no longer. Look it up in /webhook/deliveries.',
  });
}
