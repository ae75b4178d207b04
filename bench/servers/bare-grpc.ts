import { fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import {
  type MethodDefinition,
  type sendUnaryData,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { join } from 'node:path';
import { Generations } from '../../apps/grpc/generated/darkroom/v1/generations_pb.js';
import { methodDefinition } from '../../apps/grpc/definitions.js';
import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';
import { GroupLog } from './group-log.js';

/**
 * The controls over gRPC, in a process of their own: the methods of the same proto files, served by nothing but
 * grpc-js. Create parses the message, appends it to a raw log that is durable when it answers, and answers what it was
 * given to answer; get parses and answers. No checks, no metadata, no store.
 */
const log = new GroupLog(join(process.argv[2] ?? '', 'control.log'));
const { createGeneration, getGeneration } = Generations.method;
const answers: { created?: Message; got?: Message } = {};

interface Parsed {
  readonly message: Message;
  readonly text: string;
}

/** A method whose handler has the bytes too: they are what the log takes. */
const creating: MethodDefinition<Parsed, Message> = {
  ...methodDefinition(createGeneration),
  requestSerialize: ({ message }) => Buffer.from(toBinary(createGeneration.input, message as never)),
  requestDeserialize: (bytes) => ({
    message: fromBinary(createGeneration.input, bytes),
    text: bytes.toString('base64'),
  }),
};

const server = new Server();
server.addService(
  { creating, getting: methodDefinition(getGeneration) },
  {
    creating: ({ request }: ServerUnaryCall<Parsed, Message>, send: sendUnaryData<Message>) => {
      log.append(request.text).then(
        () => send(null, answers.created),
        (error: Error) => send(error),
      );
    },
    getting: (_call: ServerUnaryCall<Message, Message>, send: sendUnaryData<Message>) => send(null, answers.got),
  },
);

const commands = {
  listen: () =>
    new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    }),
  /** Sets the responses from now on, each as a message in base64. */
  answerWith({ created, got }: { readonly created: string; readonly got: string }): void {
    answers.created = fromBinary(createGeneration.output, Buffer.from(created, 'base64'));
    answers.got = fromBinary(getGeneration.output, Buffer.from(got, 'base64'));
  },
  usage: usageOfThisProcess,
};

export type BareGrpcCommands = typeof commands;

answerCommands(commands, async () => {
  server.forceShutdown();
  log.close();
});
