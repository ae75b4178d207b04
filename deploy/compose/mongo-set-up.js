// Run by mongosh: waits for a server, makes it a replica set of one member, and creates Darkroom's user in it. Safe to run
// again: if the password in the secrets was changed, it is changed in the database.
const { readFileSync } = require('node:fs');

const SET = 'rs0';
const MEMBER = 'mongo:27017';
const NOT_YET_INITIALIZED = 94;
const AUTHENTICATION_FAILED = 18;
const TRIES = 120;
const BETWEEN_TRIES_MS = 500;

const rootPassword = readFileSync('/run/secrets/mongo_root_password', 'utf8').trim();
const address = new URL(readFileSync('/run/secrets/mongo_url', 'utf8').trim());
const user = decodeURIComponent(address.username);
const database = address.searchParams.get('authSource');

const url = `mongodb://root:${encodeURIComponent(rootPassword)}@${MEMBER}/?authSource=admin&directConnection=true&serverSelectionTimeoutMS=1000`;

// Returns the first result of `attempt` that is not false.
function eventually(attempt, sentence) {
  let last = '';
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      const result = attempt();
      if (result) return result;
    } catch (error) {
      if (error.code === AUTHENTICATION_FAILED) throw error;
      last = `: ${error.message}`;
    }
    sleep(BETWEEN_TRIES_MS);
  }
  throw new Error(`${sentence}${last}`);
}

const server = eventually(() => new Mongo(url), `${MEMBER} cannot be reached`);
const admin = server.getDB('admin');

try {
  admin.runCommand({ replSetGetStatus: 1 });
  print(`replica set ${SET} is there`);
} catch (error) {
  if (error.code !== NOT_YET_INITIALIZED) throw error;
  admin.runCommand({ replSetInitiate: { _id: SET, members: [{ _id: 0, host: MEMBER }] } });
  print(`replica set ${SET} made`);
}

eventually(() => admin.runCommand({ hello: 1 }).isWritablePrimary, `${MEMBER} has not become the primary of ${SET}`);

// Access to Darkroom's own database only: reads and writes, indexes, change streams.
const own = server.getDB(database);
const account = { pwd: decodeURIComponent(address.password), roles: [{ role: 'readWrite', db: database }] };
if (own.getUser(user) === null) {
  own.createUser({ user, ...account });
  print(`user ${user} of ${database} made`);
} else {
  own.updateUser(user, account);
  print(`user ${user} of ${database} is there; its password is the secret's`);
}
