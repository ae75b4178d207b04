import { ParameterInvalid } from './request-fields.js';
import { inputRefusal } from './sentences.js';

/** A task that is refused before anything is sent. The message is one sentence, fit for clients. */
export class TaskRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TaskRefused';
  }
}

/** The request that `make` gives, or the refusal of a task for which it throws `TaskRefused` or `ParameterInvalid`. */
export function requestOrRefusal<Request>(
  make: () => Request,
): { readonly request: Request } | { readonly refused: ReturnType<typeof inputRefusal> } {
  try {
    return { request: make() };
  } catch (error) {
    if (error instanceof TaskRefused || error instanceof ParameterInvalid)
      return { refused: inputRefusal(error.message) };
    throw error;
  }
}
