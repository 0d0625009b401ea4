import { AppError } from '../kernel/errors.ts';

/** Parses what the service answered. Throws `answer_unexpected` when it is not JSON. */
export function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJson(error);
  }
}

/** The error for an answer that is not JSON. */
export function notJson(cause?: unknown): AppError {
  return new AppError('answer_unexpected', {
    detail: 'The answer is not the JSON it should be. Is this the URL of a svcctl service?',
    cause,
  });
}

/** JSON that is sent as it is spelled, because JavaScript cannot represent each number in it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get value(): unknown {
    return JSON.parse(this.text);
  }
}
