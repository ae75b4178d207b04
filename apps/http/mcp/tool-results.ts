import type { CallToolResult } from '@modelcontextprotocol/server';
import { ERRORS, type ServiceError } from '../../../core/errors.js';

/** A result that is data alone, which clients without structured content read as text. */
export function dataResult(data: object): CallToolResult {
  const text = JSON.stringify(data);
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as Record<string, unknown> };
}

/** A refusal with the code and the sentence of REST, for the model to read and to act on. */
export function refusalResult({ code, message, details: { retryAfterMs } }: ServiceError): CallToolResult {
  const seconds = retryAfterMs === undefined ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1_000));
  const retry = seconds === undefined ? '' : ` Try again in ${seconds} s.`;
  return {
    isError: true,
    content: [{ type: 'text', text: `${code}: ${message}${retry}` }],
    _meta: {
      'darkroom/error': {
        code,
        message,
        retryable: ERRORS[code].retry,
        ...(seconds === undefined ? {} : { retry_after_seconds: seconds }),
      },
    },
  };
}
