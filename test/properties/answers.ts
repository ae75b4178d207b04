import { ServiceError } from '../../core/errors.js';

/** The result, or the code of a refusal. Anything else is passed on. */
export function answerOrCode<T>(work: Promise<T>): Promise<T | string> {
  return work.catch((error: unknown) => {
    if (error instanceof ServiceError) return error.code;
    throw error;
  });
}

export async function refusalOf(work: Promise<unknown>): Promise<object> {
  try {
    return { answer: await work };
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code, message: error.message };
    throw error;
  }
}
