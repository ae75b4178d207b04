/** Why a generation failed, as the task's own `error.code`. None of them is charged. */
export const TASK_ERRORS = {
  CONTENT_REJECTED_INPUT: { retryable: false, message: 'The prompt or a reference was refused by the content policy.' },
  CONTENT_REJECTED_OUTPUT: { retryable: false, message: 'The result was withheld by the content policy.' },
  INPUT_INVALID: { retryable: false, message: 'The provider could not use this input.' },
  PROVIDER_REJECTED: { retryable: false, message: 'The provider refused the task.' },
  MODEL_UNAVAILABLE: { retryable: false, message: 'The model is no longer offered.' },
  PROVIDER_UNAVAILABLE: { retryable: true, message: 'The provider did not say what became of the task.' },
  PROVIDER_TIMEOUT: { retryable: true, message: 'The provider did not answer in time.' },
  TASK_TIMEOUT: { retryable: true, message: 'The generation did not finish before its deadline.' },
  OUTPUT_INVALID: { retryable: true, message: 'The provider delivered something that cannot be used.' },
  OUTPUT_STORE_FAILED: { retryable: true, message: 'The result could not be stored.' },
  INTERNAL_ERROR: { retryable: true, message: 'Something went wrong on our side.' },
} as const satisfies Record<string, { retryable: boolean; message: string }>;

export type TaskErrorCode = keyof typeof TASK_ERRORS;

export interface TaskError {
  readonly code: TaskErrorCode;
  readonly message: string;
  readonly retryable: boolean;
}

export function taskError(code: TaskErrorCode, message: string = TASK_ERRORS[code].message): TaskError {
  return { code, message, retryable: TASK_ERRORS[code].retryable };
}
