import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { JsonObject } from '../../../core/json.js';
import type { FrontAnswer } from '../vectors/play.js';

/** A refusal as it came over the wire. */
export interface GrpcAnswer extends FrontAnswer {
  readonly status: number;
}

/** Makes one call, and returns its answer in the form of REST: all of it, one member, or as it is given. */
export type Calling = <I extends DescMessage, O extends DescMessage>(
  desc: DescMethodUnary<I, O>,
  init: MessageInitShape<I>,
  shown?: string | ((response: MessageShape<O>) => JsonObject),
) => Promise<GrpcAnswer>;
