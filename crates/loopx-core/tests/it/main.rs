//! Tests of the `loopx-core` binary as a process.

mod actors;
mod cli;
mod desk;
mod doctor;
mod echo;
mod evidence;
mod getting_started;
mod irregular;
mod journey;
mod names;
mod newcomer;
mod offers;
mod orphans;
mod place;
mod printed;
mod proposals;
mod reads;
mod replans;
mod shared;
mod tokens;
mod traced;
mod turn;
mod unprinted;
mod wording;
