import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { ACCESS_METHODS } from '../grpc/access.js';
import { CREDIT_METHODS } from '../grpc/credits.js';
import { Access } from '../grpc/generated/darkroom/v1/access_pb.js';
import { Credits } from '../grpc/generated/darkroom/v1/credits_pb.js';
import { Operations } from '../grpc/generated/darkroom/v1/operations_pb.js';
import { People } from '../grpc/generated/darkroom/v1/people_pb.js';
import type { PlainCall, ServedMethod } from '../grpc/method.js';
import { OPERATIONS_METHODS } from '../grpc/operations.js';
import { PEOPLE_METHODS } from '../grpc/people.js';
import type { Calling, CallOptions, OperatorClient, OperatorContext, Service, UnaryCall } from './operator.js';

export function operatorClient(call: UnaryCall): OperatorClient {
  const calling = <S extends Service>({ methods }: S): Calling<S> =>
    Object.fromEntries(
      (methods as readonly DescMethodUnary[]).map((method) => [
        method.localName,
        (request: MessageInitShape<DescMessage>, options?: CallOptions) => call(method, request, options),
      ]),
    ) as unknown as Calling<S>;
  return {
    access: calling(Access),
    credits: calling(Credits),
    operations: calling(Operations),
    people: calling(People),
  };
}

/** A method of an operator's service, as this module calls it. */
interface OperatorMethod {
  readonly method: DescMethodUnary;
  readonly answer: (call: PlainCall<unknown, OperatorContext>) => Promise<MessageInitShape<DescMessage>>;
}

const SERVED: readonly ServedMethod<OperatorContext>[] = [
  ...ACCESS_METHODS,
  ...CREDIT_METHODS,
  ...OPERATIONS_METHODS,
  ...PEOPLE_METHODS,
];
const METHODS = new Map(
  SERVED.filter(({ acts }) => !acts).map((served) => [served.method, served as unknown as OperatorMethod]),
);

/** Runs the methods of the gRPC front on these stores, without a network. */
export function operatorInProcess(context: OperatorContext): OperatorClient {
  return operatorClient(async (method, request) => {
    const served = METHODS.get(method);
    if (served === undefined) throw new Error(`${method.name} is not a method for operators.`);
    const answer = await served.answer({ context, request: create(method.input, request) });
    return create(method.output as DescMessage, answer) as MessageShape<typeof method.output>;
  });
}
