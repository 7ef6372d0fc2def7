# Compresses the man pages of a package that cpack makes, as Debian's policy asks.
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/man/*.1 ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/man/*.7)
if(NOT pages)
  message(FATAL_ERROR "there are no man pages in ${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
endif()
execute_process(COMMAND gzip -9 -n -f ${pages} COMMAND_ERROR_IS_FATAL ANY)
