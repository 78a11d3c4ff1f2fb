export { MemolithError } from "./errors.js";
export { Memory } from "./memory.js";
export type {
  Change,
  Context,
  Event,
  Explored,
  Families,
  Hit,
  Hits,
  Imported,
  IngestedFile,
  Item,
  Items,
  Link,
  ListedItem,
  Overview,
  Remembered,
  Undone,
} from "./memory.js";
export type { MemoryOptions } from "./transport.js";
export { FAMILIES } from "./tools.js";
export type { Tools } from "./tools.js";
