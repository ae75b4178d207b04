import {
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { ErrorCode } from '../../../core/errors.js';
import { notedRefusal } from '../host/noted-refusal.js';
import type { Exchange } from './exchange.js';
import { cancelTask, getTask, takesTasks, TASKS_EXTENSION, updateTask } from './tasks.js';

/** What the client of a message says that it can do. */
export function capabilitiesOf({ mcpReq }: ServerContext): unknown {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
  return envelope[CLIENT_CAPABILITIES_META_KEY];
}

const PARAMS = fromJsonSchema<{ readonly taskId: string }>({
  type: 'object',
  required: ['taskId'],
  properties: { taskId: { type: 'string' } },
});

const METHODS = { 'tasks/get': getTask, 'tasks/update': updateTask, 'tasks/cancel': cancelTask } as const;

/** The methods of the tasks extension, for clients that named it. The library has no help for them. */
export function serveTasks(server: Server, { context, caller, state }: Exchange, logger: Logger): void {
  for (const [method, answer] of Object.entries(METHODS))
    server.setRequestHandler(method, { params: PARAMS }, async ({ taskId }, ctx) => {
      if (!takesTasks(capabilitiesOf(ctx)))
        throw new MissingRequiredClientCapabilityError({
          requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
        });
      try {
        return await answer(context, caller, taskId);
      } catch (error) {
        const { code, message } = notedRefusal(error, state, logger);
        throw new ProtocolError(protocolCodeOf(code), `${code}: ${message}`);
      }
    });
}

/** An id of which there is no task is a wrong parameter. */
function protocolCodeOf(code: ErrorCode): number {
  return code === 'TASK_NOT_FOUND' || code === 'GENERATION_JOB_NOT_FOUND'
    ? ProtocolErrorCode.InvalidParams
    : ProtocolErrorCode.InternalError;
}
