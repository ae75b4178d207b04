import type { CallToolResult, InputRequiredResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import type { Caller, Scope } from '../../../core/access/credential.js';
import type { Cancellation } from '../../../core/cancellation.js';
import type { Context } from '../../../core/context.js';
import type { BodySchema } from '../../../core/fields.js';
import type { JsonObject } from '../../../core/json.js';
import type { TitledSchema } from '../render/titled-schema.js';
import type { Asking } from './asking.js';
import type { Progress } from './progress.js';

/** A call of a tool, whose caller may make it. */
export interface ToolCall {
  /** With the cancellation of this call. */
  readonly context: Context;
  readonly caller: Caller;
  /** As they were sent. */
  readonly args: JsonObject;
  /** Ends what the call waits for. */
  readonly waits: Cancellation;
  readonly progress: Progress;
  readonly asking: Asking;
  /** Whether the client takes the handle of a task in place of a result that is not there yet. */
  readonly takesTasks: boolean;
  /** Credits that a call may spend without being confirmed. */
  readonly confirmAboveCredits: number;
  /** Throws as authentication does once the credential is no longer valid. For after a wait. */
  readonly requireAllowed: () => Promise<void>;
  /** Tells the log what was created. */
  readonly created: (generationId: string) => void;
}

/** What a tool answers: a result, or what the client has to ask a person first. */
export type ToolAnswer = CallToolResult | InputRequiredResult;

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: NonNullable<ListedTool['annotations']>;
  readonly input: BodySchema;
  /** Of the structured content, which is the `data` of REST. */
  readonly output: TitledSchema;
  /** The scopes that this call needs. */
  readonly scopes: (args: JsonObject) => readonly Scope[];
  /** Which of the credential's rates a call counts against; every message counts as a read. */
  readonly rate: 'reads' | 'writes';
  answer(call: ToolCall): Promise<ToolAnswer>;
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A tool as clients see it in the list. */
export function listed({ name, title, description, annotations, input, output }: Tool): ListedTool {
  return {
    name,
    title,
    description,
    annotations,
    inputSchema: { $schema: DIALECT, ...input, type: 'object' },
    outputSchema: { $schema: DIALECT, ...output, type: 'object' },
  };
}
